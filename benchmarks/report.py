"""Rows of measurements to a table of medians and ratios, and to one page with bars."""

import html
import platform
import statistics
from collections.abc import Iterable

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
    lines = [f"Python {platform.python_version()}, {platform.machine()}", ""]
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
    lines = ["### targets", "", "| case | wire | against | at most | measured |", "|---|---|---|---|---|"]
    peers = {"openai": "anthropic", "litellm": "litellm-messages"}
    for case, against, most in TARGETS:
        for wire, mine, other in (("chat", "limen", against), ("messages", "limen-messages", "")):
            name = other or peers.get(against, f"{against}-messages")
            ours, theirs = median(rows, case, mine), median(rows, case, name)
            if ours is not None and theirs:
                lines.append(f"| {case} | {wire} | {name} | {most:.3g} | {ours / theirs:.3g} |")
        ours, theirs = median(rows, case, "limen-responses"), median(rows, case, f"{against}-responses")
        if ours is not None and theirs:
            lines.append(f"| {case} | responses | {against}-responses | {most:.3g} | {ours / theirs:.3g} |")
    for wire in ("limen", "limen-messages", "limen-responses"):
        five, twenty = median(rows, "tool-5000", wire), median(rows, "tool-20000", wire)
        if five and twenty:
            lines.append(f"| tool growth | {wire} | 5,000 fragments | 4.4 | {twenty / five:.3g} |")
        for case, most in (("history", 3.0), ("memory", 64.0)):
            value = median(rows, case, wire)
            if value is not None:
                lines.append(f"| {case} | {wire} | {METRICS[case][1]} | {most:.3g} | {value:.3g} |")
    return lines


def page(rows: list[Row]) -> str:
    """One self-contained page: a bar for each subject of each case."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>limen benchmarks</title>",
        "<style>body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
        "h2{font-size:1rem;margin:2rem 0 .4rem}.r{display:flex;align-items:center;gap:.6rem}"
        ".n{width:9rem;text-align:right}.b{height:1rem;background:#9ab}.limen .b{background:#2a6}"
        "td,th{text-align:left;padding:.1rem .8rem .1rem 0}</style>",
        f"<h1>limen benchmarks</h1><p>Python {platform.python_version()}, {platform.machine()}; medians.</p>",
    ]
    for case, (_, unit, _against) in METRICS.items():
        found = [(subject, median(rows, case, subject)) for subject in subjects(rows, case)]
        known = [(subject, value) for subject, value in found if value is not None]
        top = max((value for _, value in known), default=0) or 1
        if known:
            parts.append(f"<h2>{html.escape(case)}: {html.escape(unit)}</h2>")
        for subject, value in known:
            width = max(0.2, 45 * max(value, 0) / top)
            kind = "r limen" if subject.startswith("limen") else "r"
            bar = f"<span class=b style='width:{width:.1f}%'></span>"
            parts.append(
                f"<div class='{kind}'><span class=n>{html.escape(subject)}</span>{bar}<span>{value:.3g}</span></div>"
            )
    asked = [line.strip("| ").split(" | ") for line in targets(rows)[4:]]
    cells = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in asked)
    head = "<tr><th>case<th>wire<th>against<th>at most<th>measured</tr>"
    return "\n".join([*parts, f"<h2>targets</h2><table>{head}{cells}</table>", "</html>\n"])
