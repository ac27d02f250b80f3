"""Drawing of a trace as lines of text, and the words that its page has too."""

from limen.contract import TokenUsage, visible
from limen.recording._trace import Trace, TracedBlock


def render_text(trace: Trace, *, width: int = 60) -> list[str]:
    """Return a trace as lines: a head, one bar of `width` characters for each block, and the outcome."""
    scale = _Scale(trace, width)
    lines = [title_of(trace), *(f"  {name}: {value}" for name, value in facts_of(trace))]
    for block in trace.blocks:
        bar = [" "] * width
        start, end = scale.place(block.start_ms), scale.place(end_of(block, trace))
        for place in range(start, min(end, width - 1) + 1):
            bar[place] = "─"
        for delta in block.deltas:
            bar[scale.place(delta.at_ms)] = "█"
        lines.append(f"  {label_of(block):<24.24} │{''.join(bar)}│ {duration_of(block)}")
    lines += [f"  silence of {in_words(gap.end_ms - gap.start_ms)} at {in_words(gap.start_ms)}" for gap in trace.gaps]
    return lines


class _Scale:
    def __init__(self, trace: Trace, width: int) -> None:
        self._width = width
        self._total = max(trace.total_ms, 0.001)

    def place(self, at_ms: float) -> int:
        return min(max(int(at_ms / self._total * self._width), 0), self._width - 1)


def facts_of(trace: Trace) -> list[tuple[str, str]]:
    """Return what is known of a call beside its blocks, each fact with its name."""
    wire = " / ".join(name for name in (trace.wire, trace.dialect) if name)
    facts = [
        ("wire", wire),
        ("status", "" if trace.status is None else str(trace.status)),
        ("request id", trace.request_id or ""),
        ("head after", "" if trace.headers_ms is None else in_words(trace.headers_ms)),
        ("first event after", "" if trace.first_event_ms is None else in_words(trace.first_event_ms)),
        ("total", in_words(trace.total_ms)),
        ("body", f"{trace.bytes_read} bytes in {counted(len(trace.reads), 'read')}" if trace.reads else ""),
        ("usage", "" if trace.usage is None else _usage(trace.usage)),
        ("finish", trace.finish or ""),
    ]
    failure = trace.failure
    if failure is not None:
        where = "" if failure.phase is None else f" ({failure.phase})"
        facts.append(("failure", f"{failure.code}{where}: {failure.message}"))
    return [(name, visible(value)) for name, value in facts if value]


def _usage(usage: TokenUsage) -> str:
    counts = [(name, getattr(usage, name)) for name in usage.__struct_fields__]
    return ", ".join(
        f"{count} {name.removesuffix('_tokens').replace('_', ' ')}" for name, count in counts if count is not None
    )


def title_of(trace: Trace) -> str:
    """Return a call's title."""
    return visible(f"{trace.route}: {trace.model}")


def label_of(block: TracedBlock) -> str:
    """Return a block's name: index, type, and a tool's name."""
    name = "" if block.name is None else f" {block.name}"
    return visible(f"{block.index} {block.block_type}{name}")


def duration_of(block: TracedBlock) -> str:
    """Say how long a block's content took to come, in how many deltas of how many characters."""
    count = len(block.deltas)
    came = block.deltas[-1].at_ms if block.deltas else block.end_ms
    length = "never ended" if block.end_ms is None or came is None else in_words(came - block.start_ms)
    return f"{length}, {counted(count, 'delta')}, {counted(len(block.text), 'character')}"


def end_of(block: TracedBlock, trace: Trace) -> float:
    """Return where a block's bar ends: at its last delta, since some wires end every block with the answer.

    The bar of a block that never ended goes on to the end of the call.
    """
    if block.end_ms is None:
        return trace.total_ms
    return block.deltas[-1].at_ms if block.deltas else block.end_ms


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, such as `1 read` and `2 reads`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def in_words(value: float) -> str:
    """Return a time in milliseconds, or in seconds from one on."""
    return f"{value / 1000:.2f} s" if value >= 1000 else f"{value:.0f} ms"
