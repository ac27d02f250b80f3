"""Drawing of traces as one self-contained HTML page: no script, no external resource, every text escaped."""

from collections.abc import Sequence
from html import escape
from typing import Final

from limen.contract import visible
from limen.recording._render import counted, duration_of, end_of, facts_of, in_words, label_of, title_of
from limen.recording._trace import Trace, TracedBlock

# Characters of a block's text or a prompt, and deltas of a block, that the page shows; what is more is told.
PREVIEW: Final = 2_000
_DELTAS_MAX: Final = 200
_TICKS: Final = (0, 25, 50, 75, 100)
_LEGEND: Final = (
    ("text", "text"),
    ("reasoning", "reasoning"),
    ("tool-call", "tool call"),
    ("image", "image"),
    ("open", "never ended"),
    ("silence", "silence of half a second or more"),
    ("arrival", "a delta, or a read of bytes"),
)


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
        f"<h1>{escape(title)}</h1>\n{_calls(calls)}{_legend()}{sections}\n</body>\n</html>\n"
    )


def _calls(calls: Sequence[Trace]) -> str:
    """Return the list of calls, each with its outcome, as links into the page."""
    rows = "".join(
        f'<li><a href="#call-{number}">{escape(title_of(trace))}</a> {escape(_outcome(trace))}</li>'
        for number, trace in enumerate(calls, 1)
    )
    return f'<nav aria-label="calls"><ol>{rows}</ol></nav>\n'


def _outcome(trace: Trace) -> str:
    ended = trace.failure.code if trace.failure is not None else trace.finish or "no finish"
    return f"{in_words(trace.total_ms)}, {ended}"


def _legend() -> str:
    keys = "".join(f'<li><i class="key {name}"></i>{words}</li>' for name, words in _LEGEND)
    return f'<ul class="legend" aria-label="legend">{keys}</ul>\n'


def _section(trace: Trace, number: int) -> str:
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts_of(trace))
    rows = "".join(_row(block, trace) for block in trace.blocks)
    gaps = "".join(f'<i class="gap" style="{_span(gap.start_ms, gap.end_ms, trace)}"></i>' for gap in trace.gaps)
    silences = ", ".join(f"{in_words(gap.end_ms - gap.start_ms)} at {in_words(gap.start_ms)}" for gap in trace.gaps)
    quiet = f"<p>Silence of {silences}.</p>" if silences else ""
    marks = "".join(f'<i class="read" style="left:{_percent(at, trace)}%"></i>' for at in trace.reads)
    reads = counted(len(trace.reads), "read") if trace.reads else ""
    lane = f'<div class="lane">{gaps}{marks}</div>'
    arrivals = f'<div class="row arrivals"><span>arrivals</span>{lane}<span>{reads}</span></div>'
    if not marks and not gaps:
        arrivals = ""  # of a live call only the chunks are known
    failed = " failed" if trace.failure is not None else ""
    return (
        f'<section class="call{failed}" id="call-{number}"><h2>{escape(title_of(trace))}</h2><dl>{facts}</dl>'
        f'{_prompt(trace)}<div class="lanes">{_axis(trace)}{arrivals}{rows}</div>{quiet}</section>'
    )


def _prompt(trace: Trace) -> str:
    if trace.request is None:
        return ""
    text = escape(_preview(trace.request))
    return f'<details><summary>what was asked</summary><pre tabindex="0" aria-label="request">{text}</pre></details>'


def _axis(trace: Trace) -> str:
    ticks = "".join(
        f'<i style="left:{tick}%"><small>{in_words(trace.total_ms * tick / 100)}</small></i>' for tick in _TICKS
    )
    return f'<div class="row axis"><span>time</span><div class="ticks">{ticks}</div><span></span></div>'


def _row(block: TracedBlock, trace: Trace) -> str:
    kind = escape(block.block_type)
    ticks = "".join(f'<i class="delta" style="left:{_percent(delta.at_ms, trace)}%"></i>' for delta in block.deltas)
    state = "" if block.end_ms is not None else " open"
    text = f'<pre tabindex="0" aria-label="content">{escape(_preview(block.text))}</pre>' if block.text else ""
    bar = f'<b class="bar" style="{_span(block.start_ms, end_of(block, trace), trace)}"></b>'
    return (
        f'<div class="row block {kind}{state}" data-index="{block.index}" data-type="{kind}" '
        f'data-deltas="{len(block.deltas)}"><span>{escape(label_of(block))}</span>'
        f'<div class="lane">{bar}{ticks}</div>'
        f"<span>{escape(duration_of(block))}</span>{text}{_deltas(block)}</div>"
    )


def _deltas(block: TracedBlock) -> str:
    if not block.deltas:
        return ""
    told = "".join(
        f"<li>{in_words(delta.at_ms)}: {counted(delta.size, 'character')}</li>" for delta in block.deltas[:_DELTAS_MAX]
    )
    more = len(block.deltas) - _DELTAS_MAX
    rest = f"<p>and {more} more</p>" if more > 0 else ""
    return f"<details><summary>when each delta came</summary><ol>{told}</ol>{rest}</details>"


def _preview(text: str) -> str:
    more = len(text) - PREVIEW
    return visible(text if more <= 0 else f"{text[:PREVIEW]}… ({more} characters more)")


def _percent(at_ms: float, trace: Trace) -> str:
    return f"{min(max(at_ms / max(trace.total_ms, 0.001), 0), 1) * 100:.3f}"


def _span(start_ms: float, end_ms: float, trace: Trace) -> str:
    start, end = float(_percent(start_ms, trace)), float(_percent(end_ms, trace))
    return f"left:{start:.3f}%;width:{max(end - start, 0):.3f}%"


# Bars and marks have a contrast of 3:1 at least against their lane, text of 4.5:1 against the page, light and dark.
_STYLE: Final = """
:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif;--page:#fff;--ink:#1b1b1f;--soft:#5a5a64;
--lane:#ededf1;--line:#d0d0d8;--text:#2f62b5;--reasoning:#7b4bb3;--tool:#1f7a4a;--image:#0b7285;--open:#b3261e;--silence:#a66300}
@media(prefers-color-scheme:dark){:root{--page:#17171a;--ink:#e8e8ec;--soft:#b0b0ba;--lane:#2a2a30;--line:#44444e;
--text:#7da7f0;--reasoning:#bb98ea;--tool:#62c48d;--image:#5cc8d6;--open:#ff8a80;--silence:#d9982e}}
body{max-width:72rem;margin:2rem auto;padding:0 1rem;color:var(--ink);background:var(--page)}
section{border-top:1px solid var(--line);padding:1rem 0}
a{color:var(--text)}
a:focus-visible,summary:focus-visible,pre:focus-visible{outline:2px solid var(--text);outline-offset:2px}
.legend{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;list-style:none;padding:0}
.key{display:inline-block;width:1rem;height:.8rem;margin-right:.4rem;border-radius:2px;background:var(--text)}
.key.arrival{width:2px;background:var(--ink)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:0 1rem;margin:0 0 1rem}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.row{display:grid;grid-template-columns:12rem minmax(0,1fr) 18rem;gap:.3rem 1rem;align-items:center;margin:.6rem 0}
.row span{overflow-wrap:anywhere}
.lane,.ticks{position:relative;height:1.4rem}
.lane{background:var(--lane);border-radius:3px;overflow:hidden}
.lane>*{position:absolute;top:0;bottom:0}
.ticks i{position:absolute;top:0;bottom:0;border-left:1px solid var(--soft);font-style:normal}
.ticks small{position:absolute;left:.2rem;color:var(--soft);white-space:nowrap}
.ticks i:last-child small{left:auto;right:.2rem}
.lane .bar{bottom:45%;min-width:2px;border-radius:3px;background:var(--text)}
.reasoning .bar,.key.reasoning{background:var(--reasoning)}
.tool-call .bar,.key.tool-call{background:var(--tool)}
.image .bar,.key.image{background:var(--image)}
.open .bar,.key.open{background:var(--open)}
.gap,.key.silence{background:var(--silence)}
.lane .delta{top:60%;width:1px;background:var(--ink)}
.read{width:1px;background:var(--ink)}
.row pre,.row details{grid-column:2/-1;margin:0}
pre{max-height:12rem;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere}
.failed h2::after{content:" – failed";color:var(--open)}
@media(max-width:40rem){.row{grid-template-columns:minmax(0,1fr)}.row pre,.row details{grid-column:1}
dl{grid-template-columns:minmax(0,1fr)}dd{margin-bottom:.4rem}.ticks i:nth-child(2n) small{display:none}}
"""
