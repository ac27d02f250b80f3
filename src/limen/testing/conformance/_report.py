"""Report of the checks by rule number: as values, as a table, as one self-contained page."""

import html
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Final, Literal, NamedTuple

Verdict = Literal["pass", "fail", "n/a"]


class Result(NamedTuple):
    """One check: its verdict, what was wrong or why it does not apply, and the exact stream of a failure."""

    rule: str
    name: str
    promise: str
    basic: bool
    verdict: Verdict
    detail: str = ""
    stream: Sequence[str] = ()


class Report(NamedTuple):
    """All results for one adapter on one wire."""

    adapter: str
    wire: str
    results: Sequence[Result]

    @property
    def failures(self) -> list[Result]:
        """Results of the checks that failed."""
        return [result for result in self.results if result.verdict == "fail"]

    @property
    def passed(self) -> bool:
        """True if no check failed."""
        return not self.failures

    def rule(self, number: str) -> list[Result]:
        """Return the results for one rule."""
        return [result for result in self.results if result.rule == number]

    def summary(self) -> str:
        """Return one line with the counts."""
        counts = {word: sum(result.verdict == word for result in self.results) for word in ("pass", "fail", "n/a")}
        return (
            f"{self.adapter} on {self.wire}: {counts['pass']} passed, {counts['fail']} failed, "
            f"{counts['n/a']} not applicable"
        )


def in_order(results: Sequence[Result]) -> list[Result]:
    """Return the results as people look for them: basics first, then by rule number."""
    return sorted(results, key=lambda result: (not result.basic, _rule_key(result.rule), result.name))


def _rule_key(rule: str) -> tuple[str, int]:
    digits = rule.lstrip(ascii_uppercase)
    return rule.removesuffix(digits), int(digits or 0)


_STREAM_LINES: Final = 60


def shown_stream(lines: Sequence[str]) -> list[str]:
    """Return the lines of a stream that are shown; the middle of a long one is left out."""
    if len(lines) <= _STREAM_LINES:
        return list(lines)
    half = _STREAM_LINES // 2
    return [*lines[:half], f"… {len(lines) - 2 * half} more …", *lines[-half:]]


def table(report: Report) -> str:
    """Return the report as text: a line for each check, then each failure with its exact stream."""
    lines: list[str] = []
    for title, basic in (("the basics", True), ("all rules", False)):
        rows = [result for result in in_order(report.results) if result.basic is basic]
        if rows:
            lines.append(title)
            lines += (f"  {row.rule:<4} {row.verdict:<5} {row.promise}{_why(row)}" for row in rows)
    for failure in in_order(report.failures):
        lines += ("", f"{failure.rule} {failure.name}: {failure.detail}")
        lines += (f"    {line}" for line in shown_stream(failure.stream))
    return "\n".join((*lines, "", report.summary()))


def _why(result: Result) -> str:
    return f" ({result.detail})" if result.verdict == "n/a" else ""


_STYLE: Final = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:62rem;padding:0 1rem;color:#1b1b1f;background:#fff}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #d9d9e0;
vertical-align:top}td:first-child{font-weight:600;white-space:nowrap}.pass{color:#1a6b2f}.fail{color:#a3161c;font-weight:600}
.na{color:#62626c}pre{background:#f3f3f6;padding:.7rem;overflow-x:auto;font-size:13px}h2{margin-top:2rem}
@media(prefers-color-scheme:dark){body{background:#17171a;color:#e8e8ec}td,th{border-color:#3a3a42}pre{background:#232328}
.pass{color:#6fcf8a}.fail{color:#ff8a8a}.na{color:#a0a0aa}}
"""


def page(report: Report) -> str:
    """Return the report as one HTML page that needs nothing else."""
    name = html.escape(f"{report.adapter} on {report.wire}")
    sections: list[str] = []
    for title, basic in (("The basics", True), ("All rules", False)):
        rows = [result for result in in_order(report.results) if result.basic is basic]
        if rows:
            body = "\n".join(_row(row) for row in rows)
            head = "<tr><th scope=col>Rule</th><th scope=col>Result</th><th scope=col>Promise</th></tr>"
            sections.append(f"<h2>{title}</h2>\n<table>\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Conformance: {name}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>Conformance: {name}</h1>\n<p>{html.escape(report.summary())}.</p>\n"
        + "\n".join(sections)
        + "\n</body>\n</html>\n"
    )


def _row(result: Result) -> str:
    mark = "na" if result.verdict == "n/a" else result.verdict
    promise = html.escape(result.promise)
    if result.verdict == "n/a":
        promise += f"<br><small>{html.escape(result.detail)}</small>"
    if result.verdict == "fail":
        stream = html.escape("\n".join(shown_stream(result.stream)))
        shown = f"<details><summary>the exact stream</summary><pre>{stream}</pre></details>" if stream else ""
        promise += f"<br>{html.escape(result.detail)}{shown}"
    return f"<tr><td>{result.rule}</td><td class={mark}>{result.verdict}</td><td>{promise}</td></tr>"
