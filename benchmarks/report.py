"""Rows of measurements to a table of medians and ratios, and to one page with bars."""

import html
import os
import platform
import statistics
from collections.abc import Iterable
from datetime import UTC, datetime

Row = dict[str, float | str]

# For each case: the number that counts, its unit, and against whom the ratio is taken.
METRICS = {
    "throughput": ("us_per_chunk", "µs of CPU a text chunk", "floor"),
    "small": ("cpu_ms", "ms of CPU a small call", "floor"),
    "concurrent": ("cpu_s", "s of CPU for 500 streams", "limit"),
    "tool-5000": ("cpu_ms", "ms of CPU, tool call in 5,000 fragments", "floor"),
    "tool-20000": ("cpu_ms", "ms of CPU, tool call in 20,000 fragments", "floor"),
    "history": ("cpu_ms", "ms of CPU for 2,000 messages more", "floor"),
    "memory": ("kib_per_stream", "KiB an open stream", "limit"),
    "abort": ("ms", "ms from leaving to the socket closed", None),
    "stall": ("ms_late", "ms from a stall's limit to its failure", None),
    "import": ("ms", "ms to import", "floor"),
}

# What ARCHITECTURE asks of limen: (case, against, at most).
TARGETS = [
    ("throughput", "floor", 2.0),
    ("throughput", "openai", 1 / 20),
    ("throughput", "litellm", 1 / 100),
    ("small", "floor", 2.5),
    ("small", "openai", 1 / 4),
    ("concurrent", "limit", 1.3),
    ("import", "floor", 1.5),
]


def numbers(rows: Iterable[Row], case: str, subject: str) -> list[float]:
    """Every measurement of one case of one subject."""
    metric = METRICS[case][0]
    found = (row.get(metric) for row in rows if row["case"] == case and row["subject"] == subject)
    return [float(value) for value in found if value is not None]


def median(rows: Iterable[Row], case: str, subject: str) -> float | None:
    """The median, or nothing where nothing was measured."""
    found = numbers(rows, case, subject)
    return statistics.median(found) if found else None


def subjects(rows: Iterable[Row], case: str) -> list[str]:
    """Who was measured in a case, in order of first appearance."""
    return list(dict.fromkeys(str(row["subject"]) for row in rows if row["case"] == case))


def baseline(case: str, subject: str) -> str | None:
    """Against whom a subject's ratio is taken: its own wire's floor or limit."""
    name = METRICS[case][2]
    suffix = "messages" if subject == "anthropic" else subject.partition("-")[2]
    return f"{name}-{suffix}" if name and suffix else name


def table(rows: list[Row]) -> str:
    """Medians, spreads and ratios as Markdown, then the targets."""
    lines = [machine(), ""]
    for case, (_, unit, _against) in METRICS.items():
        who = subjects(rows, case)
        if not who:
            continue
        lines += [f"### {case}: {unit}", "", "| subject | median | worst | runs | ratio |", "|---|---|---|---|---|"]
        for subject in who:
            found = numbers(rows, case, subject)
            if not found:
                failed = next(row["failed"] for row in rows if row["case"] == case and row["subject"] == subject)
                lines.append(f"| {subject} | failed: {failed} | | | |")
                continue
            base = baseline(case, subject)
            against = median(rows, case, base) if base else None
            ratio = f"{statistics.median(found) / against:.2f} × {base}" if against else ""
            lines.append(f"| {subject} | {statistics.median(found):.3g} | {max(found):.3g} | {len(found)} | {ratio} |")
        lines.append("")
    return "\n".join([*lines, *targets(rows), ""])


def targets(rows: list[Row]) -> list[str]:
    """Each target with what was measured."""
    lines = ["### targets", "", "| case | wire | against | at most | measured | |", "|---|---|---|---|---|---|"]
    peers = {"openai": "anthropic", "litellm": "litellm-messages"}
    for case, against, most in TARGETS:
        for wire, mine, other in (("chat", "limen", against), ("messages", "limen-messages", "")):
            name = other or peers.get(against, f"{against}-messages")
            ours, theirs = median(rows, case, mine), median(rows, case, name)
            if ours is not None and theirs:
                lines.append(_target(case, wire, name, most, ours / theirs))
        ours, theirs = median(rows, case, "limen-responses"), median(rows, case, f"{against}-responses")
        if ours is not None and theirs:
            lines.append(_target(case, "responses", f"{against}-responses", most, ours / theirs))
    for wire in ("limen", "limen-messages", "limen-responses"):
        five, twenty = median(rows, "tool-5000", wire), median(rows, "tool-20000", wire)
        if five and twenty:
            lines.append(_target("tool growth", wire, "5,000 fragments", 4.4, twenty / five))
        for case, most in (("history", 3.0), ("memory", 64.0)):
            value = median(rows, case, wire)
            if value is not None:
                lines.append(_target(case, wire, METRICS[case][1], most, value))
    return lines


def _target(case: str, wire: str, against: str, most: float, measured: float) -> str:
    return f"| {case} | {wire} | {against} | {most:.3g} | {measured:.3g} | {'held' if measured <= most else 'MISSED'} |"


def machine() -> str:
    """The date, Python and the machine, in words."""
    today = datetime.now(tz=UTC).date().isoformat()
    cpus = os.cpu_count() or 1
    return (
        f"{today}, Python {platform.python_version()}, {platform.system()} on {platform.machine()}, {cpus} processors"
    )


WORDS = (
    "The floor is the best that plain Python can do with parsing: a raw socket, the events split off, one typed decode "
    "each, no order and no meaning. The limit counts bytes and looks at none. A bar is the median of the runs, "
    "the line below it goes from the best to the worst run, and a ratio is of medians in the same run."
)

# Text has a contrast of 4.5:1 at least against the page, bars of 3:1, light and dark.
STYLE = """
:root{color-scheme:light dark;--page:#fff;--ink:#1b1b1f;--soft:#5a5a64;--ours:#1f7a4a;--theirs:#5f7089;--missed:#a3161c}
@media(prefers-color-scheme:dark){:root{--page:#17171a;--ink:#e8e8ec;--soft:#b0b0ba;--ours:#62c48d;--theirs:#9fb0c8;
--missed:#ff8a8a}}
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--ink);
background:var(--page)}p{color:var(--soft)}h2{font-size:1rem;margin:2rem 0 .4rem}
.r{display:grid;grid-template-columns:9rem minmax(0,1fr) 13rem;align-items:center;gap:.6rem;margin:.2rem 0}
.n{text-align:right;overflow-wrap:anywhere}.l{position:relative;height:1rem}
.b,.w{position:absolute}.b{top:0;bottom:35%;background:var(--theirs)}.limen .b{background:var(--ours)}
.w{bottom:0;height:3px;background:var(--ink)}
.t{overflow-x:auto}table{border-collapse:collapse}td,th{text-align:left;padding:.1rem .8rem .1rem 0}
.missed{color:var(--missed);font-weight:600}
@media(max-width:40rem){.r{grid-template-columns:minmax(0,1fr)}.n{text-align:left}}
"""


def page(rows: list[Row]) -> str:
    """One self-contained page: a bar with its spread for each subject of each case, and the targets."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width, initial-scale=1'><title>limen benchmarks</title>",
        f"<style>{STYLE}</style><h1>limen benchmarks</h1><p>{html.escape(machine())}.</p><p>{WORDS}</p>",
    ]
    for case, (_, unit, _against) in METRICS.items():
        known = [(subject, found) for subject in subjects(rows, case) if (found := numbers(rows, case, subject))]
        top = max((max(found) for _, found in known), default=0) or 1
        if known:
            parts.append(f"<h2>{html.escape(case)}: {html.escape(unit)}</h2>")
        parts += [_bar(subject, found, top) for subject, found in known]
        parts += [
            f"<p class=missed>{html.escape(str(row['subject']))} failed in {html.escape(case)}: "
            f"{html.escape(str(row['failed']))}</p>"
            for row in rows
            if row["case"] == case and "failed" in row
        ]
    asked = [line.strip("| ").split(" | ") for line in targets(rows)[4:]]
    cells = "".join(_row(row) for row in asked)
    head = "<tr><th>target<th>case<th>wire<th>against<th>at most<th>measured</tr>"
    return "\n".join(
        [
            *parts,
            f"<h2>targets</h2><div class=t tabindex=0 aria-label=targets><table>{head}{cells}</table></div>",
            "</html>\n",
        ]
    )


def _row(cells: list[str]) -> str:
    missed = " class=missed" if cells[-1] == "MISSED" else ""
    # The verdict comes first, where a narrow page shows it too.
    return f"<tr{missed}>{''.join(f'<td>{html.escape(cell)}' for cell in (cells[-1], *cells[:-1]))}</tr>"


def _bar(subject: str, found: list[float], top: float) -> str:
    def percent(value: float) -> float:
        return min(max(value / top * 100, 0.2), 100)

    middle, best, worst = statistics.median(found), min(found), max(found)
    bar = f"<span class=b style='left:0;width:{percent(middle):.1f}%'></span>"
    spread = f"<span class=w style='left:{percent(best):.1f}%;width:{percent(worst) - percent(best):.1f}%'></span>"
    runs = "1 run" if len(found) == 1 else f"{len(found)} runs"
    words = f"{middle:.3g} ({best:.3g} to {worst:.3g}, {runs})"
    kind = "r limen" if subject.startswith("limen") else "r"
    return (
        f"<div class='{kind}'><span class=n>{html.escape(subject)}</span>"
        f"<span class=l>{bar}{spread}</span><span>{words}</span></div>"
    )
