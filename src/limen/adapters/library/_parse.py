"""Objects of the library, read as unknown: shape first; and the facts of what it raises."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeVar

import msgspec

from limen.adapters.kit import PromptCounts, first_count
from limen.adapters.library._wire import CompletionDetails, Part, PromptDetails, Thinking, Usage
from limen.contract import LlmError, codes, foreign_text

S = TypeVar("S", bound=msgspec.Struct)

# How many exceptions of a chain are looked at: the library wraps three or four deep.
_LONGEST_CHAIN: Final = 12
# Of a failure's text and body no more is read (S2).
_LONGEST_BODY: Final = 64 * 1024


def read_part(given: object) -> Part:
    """Return a chunk of a stream; anything else is `MALFORMED_RESPONSE`."""
    part = _read(given, Part)
    if isinstance(part, str):
        raise LlmError(f"litellm gave out what is no chunk of a stream: {part}", codes.MALFORMED_RESPONSE)
    return part


def read_usage(given: object, notes: list[str]) -> PromptCounts | None:
    """Return the counts of a chunk, `None` where it has none; what cannot be read is unknown, with a note (C15).

    The library writes a zero for each part that a provider did not report, so a zero part is unknown.
    """
    found: object = getattr(given, "usage", None)
    if found is None:
        return None
    usage = _read(found, Usage)
    if isinstance(usage, str):
        notes.append(f"token counts that cannot be read count as unknown: {usage}")
        return None
    prompt = usage.prompt_tokens_details or PromptDetails()
    completion = usage.completion_tokens_details or CompletionDetails()
    return PromptCounts(
        prompt=first_count(usage.prompt_tokens, notes=notes),
        completion=first_count(usage.completion_tokens, notes=notes),
        total=first_count(usage.total_tokens, notes=notes),
        cached=first_count(prompt.cached_tokens, notes=notes) or None,
        written=first_count(prompt.cache_creation_tokens, notes=notes) or None,
        reasoning=first_count(completion.reasoning_tokens, notes=notes) or None,
    )


def read_thinking(given: object, notes: list[str]) -> Thinking | None:
    """Return a part of a thinking block; one that cannot be read is left out, with a note (C15)."""
    thinking = _read(given, Thinking)
    if isinstance(thinking, str):
        notes.append(f"a thinking block that cannot be read is not kept: {thinking}")
        return None
    return thinking


def _read(given: object, kind: type[S]) -> S | str:
    """Return an object as a struct, or the fault of its shape."""
    try:
        return msgspec.convert(given, kind, from_attributes=True)
    except msgspec.ValidationError as fault:
        return str(fault)


def read_provider(given: object) -> str | None:
    """Return the provider's name from the library's answer to a model's id, `None` where it knows none."""
    try:
        _, name, _, _ = msgspec.convert(given, tuple[object, str, object, object])
    except msgspec.ValidationError:
        return None
    return name


def read_names(given: object) -> frozenset[str] | None:
    """Return the fields that the library sends to a provider, `None` where it does not know the provider."""
    try:
        return frozenset(msgspec.convert(given, list[str]))
    except msgspec.ValidationError:
        return None


class Raised(NamedTuple):
    """Facts of what the library raised, by attributes and real classes: never by the code that it claims.

    `classes` are `package.Class` of each exception of the chain and of its bases. `text` is what the outermost says,
    `cause` what the innermost says, `said` what all of them say. `status`, `headers` and `body` are those of the HTTP
    answer or of the error object that it was made of, as far as they are kept; the innermost status is the least made
    up.
    """

    classes: frozenset[str]
    text: str
    cause: str
    said: str
    status: int | None
    headers: Mapping[str, str]
    body: bytes

    def is_a(self, *names: str) -> bool:
        """Tell whether the chain holds an exception of one of these classes."""
        return not self.classes.isdisjoint(names)


def read_raised(error: BaseException) -> Raised:
    """Return the facts of an exception and of those that it was made of."""
    classes: set[str] = set()
    texts: list[str] = []
    status: int | None = None
    headers: Mapping[str, str] = {}
    body = b""
    for one in _chain(error):
        classes.update(f"{_package(base)}.{base.__qualname__}" for base in type(one).__mro__)
        texts += _words(one)
        answer: object = getattr(one, "response", None)
        status = _status(getattr(one, "status_code", None)) or _status(getattr(answer, "status_code", None)) or status
        headers = headers or _headers(answer)
        body = body or _body(one, answer)
    first, last = (texts[0], texts[-1]) if texts else (type(error).__name__, "")
    return Raised(frozenset(classes), first, last, "\n".join(texts), status, headers, body)


def _package(kind: type) -> str:
    """Return the package of a class; `httpx2` and `httpcore2` go on from the packages without the number."""
    name = kind.__module__.partition(".")[0]
    return name.removesuffix("2") if name.startswith("http") else name


def _words(error: BaseException) -> list[str]:
    # The library repeats the text of the cause, and may add a whole traceback.
    text = foreign_text(error)[:_LONGEST_BODY].partition(" Original exception:")[0].partition("\nTraceback")[0]
    return [text] if text.strip() else []


def _chain(error: BaseException) -> Iterator[BaseException]:
    waiting: list[object] = [error]
    seen: set[int] = set()
    while waiting and len(seen) < _LONGEST_CHAIN:
        one = waiting.pop(0)
        if not isinstance(one, BaseException) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += (getattr(one, "original_exception", None), one.__cause__, one.__context__)


def _status(given: object) -> int | None:
    return given if type(given) is int and 100 <= given <= 599 else None


def _headers(answer: object) -> Mapping[str, str]:
    given: object = getattr(answer, "headers", None)
    try:
        return {name.lower(): value for name, value in msgspec.convert(given, dict[str, str]).items()}
    except msgspec.ValidationError:
        return {}


def _body(error: BaseException, answer: object) -> bytes:
    """Return the answer's body: its bytes where it still has them, else the object that the exception keeps."""
    kept: object = getattr(answer, "_content", None)
    if isinstance(kept, bytes) and kept:
        return kept[:_LONGEST_BODY]
    told: object = getattr(error, "body", None)
    if isinstance(told, str):
        return told[:_LONGEST_BODY].encode("utf-8", "replace")
    try:
        return b"" if told is None else msgspec.json.encode(told)
    except (TypeError, ValueError):
        return b""
