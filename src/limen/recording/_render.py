"""Drawings of a trace: lines of text, and a self-contained HTML page."""

from collections.abc import Sequence
from html import escape
from typing import Final

from limen.contract import TokenUsage
from limen.recording._trace import Trace, TracedBlock

PREVIEW: Final = 2_000


def render_text(trace: Trace, *, width: int = 60) -> list[str]:
    """Return a trace as lines: a head, one bar of `width` characters for each block, and the outcome."""
    scale = _Scale(trace, width)
    lines = [_title(trace), *(f"  {name}: {value}" for name, value in _facts(trace))]
    for block in trace.blocks:
        bar = [" "] * width
        start, end = scale.place(block.start_ms), scale.place(_end(block, trace))
        for place in range(start, min(end, width - 1) + 1):
            bar[place] = "─"
        for delta in block.deltas:
            bar[scale.place(delta.at_ms)] = "█"
        lines.append(f"  {_label(block):<24.24} │{''.join(bar)}│ {_duration(block)}")
    lines += [f"  silence of {_ms(gap.end_ms - gap.start_ms)} at {_ms(gap.start_ms)}" for gap in trace.gaps]
    return lines


class _Scale:
    def __init__(self, trace: Trace, width: int) -> None:
        self._width = width
        self._total = max(trace.total_ms, 0.001)

    def place(self, at_ms: float) -> int:
        return min(max(int(at_ms / self._total * self._width), 0), self._width - 1)


def render_html(traces: Trace | Sequence[Trace], *, title: str = "limen trace") -> str:
    """Return one self-contained page: no script, no external resource, every text escaped."""
    calls = (traces,) if isinstance(traces, Trace) else tuple(traces)
    sections = "\n".join(_section(trace, number) for number, trace in enumerate(calls, 1))
    return (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{sections}\n</body>\n</html>\n"
    )


def _section(trace: Trace, number: int) -> str:
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in _facts(trace))
    rows = "".join(_row(block, trace) for block in trace.blocks)
    gaps = "".join(
        f'<i class="gap" style="{_span(gap.start_ms, gap.end_ms, trace)}" '
        f'title="silence of {_ms(gap.end_ms - gap.start_ms)}"></i>'
        for gap in trace.gaps
    )
    marks = "".join(f'<i class="read" style="left:{_percent(at, trace)}%"></i>' for at in trace.reads)
    span = f"<span>0 to {_ms(trace.total_ms)}</span>"
    arrivals = f'<div class="row arrivals"><span>reads</span><div class="lane">{gaps}{marks}</div>{span}</div>'
    failed = " failed" if trace.failure is not None else ""
    return (
        f'<section class="call{failed}" id="call-{number}"><h2>{escape(_title(trace))}</h2><dl>{facts}</dl>'
        f'<div class="lanes">{arrivals}{rows}</div></section>'
    )


def _row(block: TracedBlock, trace: Trace) -> str:
    kind = escape(block.block_type)
    ticks = "".join(
        f'<i class="delta" style="left:{_percent(delta.at_ms, trace)}%" '
        f'title="{_ms(delta.at_ms)}: {delta.size} characters"></i>'
        for delta in block.deltas
    )
    state = "" if block.end_ms is not None else " open"
    text = block.text if len(block.text) <= PREVIEW else f"{block.text[:PREVIEW]}…"
    return (
        f'<div class="row block {kind}{state}" data-index="{block.index}" data-type="{kind}" '
        f'data-deltas="{len(block.deltas)}"><span>{escape(_label(block))}</span>'
        f'<div class="lane"><b class="bar" style="{_span(block.start_ms, _end(block, trace), trace)}"></b>{ticks}</div>'
        f"<span>{escape(_duration(block))}</span><pre>{escape(text)}</pre></div>"
    )


def _facts(trace: Trace) -> list[tuple[str, str]]:
    wire = " / ".join(name for name in (trace.wire, trace.dialect) if name)
    facts = [
        ("wire", wire),
        ("status", "" if trace.status is None else str(trace.status)),
        ("request id", trace.request_id or ""),
        ("head after", "" if trace.headers_ms is None else _ms(trace.headers_ms)),
        ("first event after", "" if trace.first_event_ms is None else _ms(trace.first_event_ms)),
        ("total", _ms(trace.total_ms)),
        ("body", f"{trace.bytes_read} bytes in {len(trace.reads)} reads" if trace.reads else ""),
        ("usage", "" if trace.usage is None else _usage(trace.usage)),
        ("finish", trace.finish or ""),
    ]
    failure = trace.failure
    if failure is not None:
        where = "" if failure.phase is None else f" ({failure.phase})"
        facts.append(("failure", f"{failure.code}{where}: {failure.message}"))
    return [(name, value) for name, value in facts if value]


def _usage(usage: TokenUsage) -> str:
    counts = [(name, getattr(usage, name)) for name in usage.__struct_fields__]
    return ", ".join(
        f"{count} {name.removesuffix('_tokens').replace('_', ' ')}" for name, count in counts if count is not None
    )


def _title(trace: Trace) -> str:
    return f"{trace.route}: {trace.model}"


def _label(block: TracedBlock) -> str:
    name = "" if block.name is None else f" {block.name}"
    return f"{block.index} {block.block_type}{name}"


def _duration(block: TracedBlock) -> str:
    count = len(block.deltas)
    length = "never ended" if block.end_ms is None else _ms(block.end_ms - block.start_ms)
    return f"{length}, {count} {'delta' if count == 1 else 'deltas'}, {len(block.text)} characters"


def _end(block: TracedBlock, trace: Trace) -> float:
    return trace.total_ms if block.end_ms is None else block.end_ms


def _percent(at_ms: float, trace: Trace) -> str:
    return f"{min(max(at_ms / max(trace.total_ms, 0.001), 0), 1) * 100:.3f}"


def _span(start_ms: float, end_ms: float, trace: Trace) -> str:
    start, end = float(_percent(start_ms, trace)), float(_percent(end_ms, trace))
    return f"left:{start:.3f}%;width:{max(end - start, 0):.3f}%"


def _ms(value: float) -> str:
    return f"{value / 1000:.2f} s" if value >= 1000 else f"{value:.0f} ms"


_STYLE: Final = """
:root{color-scheme:light dark;font:14px/1.5 system-ui,sans-serif}
body{max-width:72rem;margin:2rem auto;padding:0 1rem}
section{border-top:1px solid #8886;padding:1rem 0}
dl{display:grid;grid-template-columns:max-content 1fr;gap:0 1rem;margin:0 0 1rem}
dt{opacity:.7}dd{margin:0;overflow-wrap:anywhere}
.row{display:grid;grid-template-columns:12rem 1fr 18rem;gap:.3rem 1rem;align-items:center;margin:.4rem 0}
.row span{overflow-wrap:anywhere}
.lane{position:relative;height:1.4rem;background:#8882;border-radius:3px;overflow:hidden}
.lane>*{position:absolute;top:0;bottom:0}
.bar{background:#4a7fd6;opacity:.45;min-width:2px;border-radius:3px}
.reasoning .bar{background:#9a6fd0}.tool-call .bar{background:#3f9a63}.image .bar{background:#c98a2b}
.open .bar{background:#c9403f}
.delta{width:1px;background:currentColor;opacity:.6}
.read{width:1px;background:currentColor;opacity:.5}
.gap{background:#c98a2b66}
.row pre{grid-column:2/-1;margin:0;max-height:12rem;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere}
.failed h2::after{content:" – failed";color:#c9403f}
"""
