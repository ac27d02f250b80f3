"""The tables of docs/dialects.md, made from the rows."""

from collections.abc import Callable, Iterable

from limen.adapters.openai_chat import ROWS, Dialect
from limen.adapters.openai_chat._dialects import EFFORT, PLAIN, CacheRules, EffortRules
from limen.contract import dumps

Column = tuple[str, Callable[[Dialect], str]]


def _code(text: str | None) -> str:
    return f"`{text}`" if text else "–"


def _codes(texts: Iterable[str]) -> str:
    return ", ".join(f"`{text}`" for text in texts) or "–"


def _json(value: object) -> str:
    return f"`{dumps(value).decode()[1:-1].replace(EFFORT, '…')}`"


def _efforts(rules: EffortRules) -> str:
    if rules.levels is None:
        return "the model's, else as given"
    return _codes(rules.levels) if rules.levels else "none"


def _cap(row: Dialect) -> str:
    beside = row.beside_max_tokens
    return f"{_code(row.max_tokens_field)}, with {_json(beside)}" if beside else _code(row.max_tokens_field)


def _effort_fields(rules: EffortRules) -> str:
    return "–" if rules.level is None else _json(rules.level)


def _cache(rules: CacheRules) -> str:
    found = [
        f"{hint}: {_json(what)}" if fields else f"{hint}: `cache_control` with {_json(what)}"
        for hint, what, fields in (
            ("short", rules.short_fields, True),
            ("short", rules.short_mark, False),
            ("long", rules.long_fields, True),
            ("long", rules.long_mark, False),
        )
        if what is not None
    ]
    return "; ".join(found) or "–"


def _ids(row: Dialect) -> str:
    rule = row.tool_ids
    if rule is None:
        return "any"
    more = "letters and digits" if "_" not in rule.alphabet else "letters, digits, `_`, `-`"
    size = f"{rule.max_length}" if rule.min_length == rule.max_length else f"up to {rule.max_length}"
    return f"{size} {more}"


def _images(row: Dialect) -> str:
    what = {"yes": "yes", "listed": "models known to take them", "no": "no"}[row.images]
    return what if row.image_urls else f"{what}; bytes only"


def _tools(row: Dialect) -> str:
    limits = [] if row.max_tools is None else [f"at most {row.max_tools}"]
    if row.tool_name is not None:
        limits.append(f"name `{row.tool_name.pattern}`")
    return "; ".join(limits) or "–"


def _unless_refused(row: Dialect, name: str, values: Iterable[str]) -> str:
    return "–" if name in row.refuses else _codes(sorted(values))


def _reasoning(row: Dialect) -> str:
    fields = row.reading.reasoning_fields
    names = "the usual names" if fields == PLAIN.reasoning_fields else _codes(fields)
    return f"{names}; `<think>`" if row.reading.think_tags else names


TABLES: dict[str, tuple[Column, ...]] = {
    "Where, and with which key": (
        ("base URL", lambda row: _code(row.base_url)),
        ("models", lambda row: _code(row.models_path)),
        ("key variables", lambda row: _codes(row.key_variables)),
        ("key", lambda row: "required" if row.requires_key else "if given"),
        ("header", lambda row: "`api-key`" if row.key_header == "api-key" else "Bearer"),
    ),
    "Fields of the request": (
        ("output cap", _cap),
        ("asks for usage", lambda row: "yes" if row.stream_usage else "no"),
        ("system role", lambda row: _code(row.system_role)),
        ("stops", lambda row: "any" if row.max_stops is None else f"at most {row.max_stops}"),
        ("answer formats", lambda row: _unless_refused(row, "response_format", row.response_formats)),
        ("refused", lambda row: _codes(sorted(row.refuses))),
        ("cache", lambda row: _cache(row.cache)),
    ),
    "Reasoning": (
        ("efforts", lambda row: _efforts(row.efforts)),
        ("written as", lambda row: _effort_fields(row.efforts)),
        ("`off` as", lambda row: "–" if row.efforts.off is None else _json(row.efforts.off)),
        ("of earlier turns, in", lambda row: row.reasoning_back or "the field it came in"),
    ),
    "Tools and images": (
        ("tools", _tools),
        ("choices", lambda row: _unless_refused(row, "tool_choice", row.tool_choices)),
        ("strict", lambda row: row.strict),
        ("call ids", _ids),
        ("images", _images),
    ),
    "Documents and sounds": (
        ("as bytes", lambda row: _codes(sorted(row.files.types))),
        ("by address", lambda row: _codes(sorted(row.files.urls))),
        ("uploaded, by id", lambda row: "yes" if row.files.ids else "no"),
    ),
    "The answer": (
        ("`[DONE]`", lambda row: row.reading.end_marker),
        ("reasoning in", _reasoning),
        ("errors also in", lambda row: _codes(row.reading.error_places)),
        ("own finish words", lambda row: _codes(row.reading.finish_words)),
        ("own error rows", lambda row: str(len(row.errors.rows))),
    ),
}


def table(title: str) -> str:
    """Return one table of the page."""
    columns = TABLES[title]
    head = f"| dialect | {' | '.join(name for name, _ in columns)} |"
    lines = [
        f"| `{row.name}` | {' | '.join(show(row).replace('|', chr(92) + '|') for _, show in columns)} |"
        for row in ROWS.values()
    ]
    return "\n".join((head, "|---" * (len(columns) + 1) + "|", *lines))
