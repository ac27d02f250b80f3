"""Random grammatical chunk streams, and what of them a wire can carry."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from hypothesis import strategies as st

import limen
from limen.contract import (
    MAX_TOKENS,
    STOP,
    TOOL_CALLS,
    BlockEnd,
    BlockStart,
    BlockType,
    Finish,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
NAMES = st.text("abcXYZ019_-", min_size=1, max_size=8)
ARGUMENTS = st.dictionaries(TEXTS, st.one_of(st.none(), st.integers(), TEXTS, st.lists(TEXTS, max_size=2)), max_size=3)
COUNTS = st.integers(0, 100_000)
KINDS: tuple[BlockType, ...] = ("text", "reasoning", "tool-call")


def same(usage: TokenUsage) -> TokenUsage:
    """The counts of a wire that carries all of them."""
    return usage


class Shape(NamedTuple):
    """What a wire cannot carry; the default carries everything.

    `one_each`: at most one text and one reasoning block, and all blocks end at the end (wires without block events).
    `bare_first`: a call's first delta has no arguments (wires that open a call with an event of its own).
    `whole_calls`: a call's arguments come in one delta, the first one (wires that hand over an object).
    `calls_last`: calls stand after every other block.
    `cut_calls`: a call that the token limit cut is carried in a stream; `whole_cut_calls`: in a whole answer, too.
    `ids`: calls keep their ids; where the wire has none, they read back with made ones.
    `written`: a call's arguments as they read back.
    `counts`: the counts that a report of usage reads back with.
    `wordless`: codes of failures whose message has no place.
    `learns`: codes of failures that read back otherwise than on other wires, with what they read back as.
    """

    one_each: bool = False
    bare_first: bool = False
    whole_calls: bool = False
    calls_last: bool = False
    cut_calls: bool = True
    whole_cut_calls: bool = True
    ids: bool = True
    written: Callable[[str], str] = str
    counts: Callable[[TokenUsage], TokenUsage] = same
    wordless: Collection[str] = ()
    learns: Mapping[str, str] = MappingProxyType({})


def encoded(arguments: Mapping[str, object]) -> str:
    return msgspec.json.encode(arguments).decode()


@st.composite
def pieces(draw: st.DrawFn, text: str) -> list[str]:
    """A text cut into fragments that are not empty."""
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=4)) - {len(text)})
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True) if text[a:b]]


@st.composite
def block_deltas(draw: st.DrawFn, kind: str, index: int, shape: Shape, *, cut: bool) -> list[StreamChunk]:
    """The deltas of one block."""
    if kind == "tool-call":
        name = draw(NAMES)
        arguments = encoded(draw(ARGUMENTS))
        if cut:
            arguments = arguments[: draw(st.integers(1, len(arguments)))]
        fragments = [arguments] if shape.whole_calls else draw(pieces(arguments))
        if shape.bare_first or (not shape.whole_calls and draw(st.booleans())):
            fragments = ["", *fragments]
        first, *rest = fragments
        call = f"call_{index}"
        return [ToolCallDelta(index, call, name, first), *(ToolCallDelta(index, call, None, one) for one in rest)]
    texts = draw(st.lists(TEXTS, min_size=1, max_size=4))
    # A stop whose text is blank would be no answer (C12).
    return [TextDelta(index, f"{text}x") if kind == "text" else ReasoningDelta(index, text) for text in texts]


def ended(deltas: Sequence[StreamChunk]) -> BlockEnd:
    first = deltas[0]
    if isinstance(first, ToolCallDelta):
        arguments = "".join(one.arguments_delta for one in deltas if isinstance(one, ToolCallDelta))
        return BlockEnd(first.index, ToolCallBlock(first.id, first.name or "", arguments))
    if isinstance(first, TextDelta):
        return BlockEnd(first.index, TextBlock("".join(one.text for one in deltas if isinstance(one, TextDelta))))
    assert isinstance(first, ReasoningDelta)
    text = "".join(one.text for one in deltas if isinstance(one, ReasoningDelta))
    return BlockEnd(first.index, ReasoningBlock(text))


@st.composite
def usages(draw: st.DrawFn) -> TokenUsage:
    output = draw(COUNTS)
    return TokenUsage(
        input_tokens=draw(COUNTS),
        output_tokens=output,
        cache_read_tokens=draw(COUNTS),
        cache_write_tokens=draw(COUNTS),
        reasoning_tokens=draw(st.none() | st.integers(0, output)),
    )


@st.composite
def streams(draw: st.DrawFn, shape: Shape) -> list[StreamChunk]:
    """A whole successful stream: blocks that interleave, usage, finish."""
    reason = draw(st.sampled_from([STOP, TOOL_CALLS, MAX_TOKENS]))
    kinds: list[BlockType] = draw(st.lists(st.sampled_from(KINDS), max_size=4))
    if reason is STOP:
        kinds = [*(kind for kind in kinds if kind != "tool-call"), "text"]
    if reason is TOOL_CALLS:
        kinds.append("tool-call")
    if shape.one_each:
        kinds = [kind for place, kind in enumerate(kinds) if kind == "tool-call" or kind not in kinds[:place]]
    if shape.calls_last:
        kinds.sort(key=lambda kind: kind == "tool-call")
    cut = reason is MAX_TOKENS and shape.cut_calls
    blocks = [draw(block_deltas(kind, index, shape, cut=cut)) for index, kind in enumerate(kinds)]
    chunks = list(draw(mixed(blocks, kinds, shape)))
    usage = draw(usages())
    return [*chunks, UsageChunk(usage), Finish(reason)]


@st.composite
def mixed(draw: st.DrawFn, blocks: list[list[StreamChunk]], kinds: list[BlockType], shape: Shape) -> list[StreamChunk]:
    """Blocks opened in their order, each start with its first delta, and otherwise in any order."""
    chunks: list[StreamChunk] = []
    rest: dict[int, Iterator[StreamChunk]] = {}
    opened = 0
    while opened < len(blocks) or rest:
        choices = [*rest, *([opened] if opened < len(blocks) else [])]
        if shape.whole_calls and kinds[choices[-1]] == "tool-call":
            # A call goes out as a whole, after all that came before it.
            choices = [index for index in rest if kinds[index] != "tool-call"] or choices
        index = draw(st.sampled_from(choices))
        if index == opened:
            kind = kinds[index]
            chunks += (BlockStart(index, kind), blocks[index][0])
            closing = () if shape.one_each else (ended(blocks[index]),)
            rest[index] = iter((*blocks[index][1:], *closing))
            opened += 1
            continue
        following = next(rest[index], None)
        if following is None:
            del rest[index]
        else:
            chunks.append(following)
    return [*chunks, *(ended(deltas) for deltas in blocks)] if shape.one_each else chunks


@st.composite
def cuts(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """The bytes as a network might deliver them."""
    places = sorted(draw(st.sets(st.integers(0, len(data)), max_size=12)))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


def read(wire: str, reads: Sequence[bytes]) -> list[StreamChunk]:
    """The chunks that limen's own reader makes of bytes, without the replay state that it adds."""
    chunks = limen.iter_chunks(wire, reads)
    return [Finish(chunk.reason) if isinstance(chunk, Finish) else chunk for chunk in chunks]


def as_carried(chunks: Sequence[StreamChunk], shape: Shape) -> list[StreamChunk]:
    """The chunks as a wire of that shape carries them: counts that it has, and calls named by their place if it must.

    Calls of both sides are renamed where a wire has no ids, so that the rest can be compared.
    """
    names: dict[str, str] = {}

    def named(id_: str) -> str:
        return id_ if shape.ids else names.setdefault(id_, f"call {len(names)}")

    found: list[StreamChunk] = []
    for chunk in chunks:
        if isinstance(chunk, ToolCallDelta):
            arguments = shape.written(chunk.arguments_delta)
            found.append(msgspec.structs.replace(chunk, id=named(chunk.id), arguments_delta=arguments))
        elif isinstance(chunk, BlockEnd) and isinstance(chunk.block, ToolCallBlock):
            block = chunk.block
            call = ToolCallBlock(named(block.id), block.name, shape.written(block.arguments))
            found.append(BlockEnd(chunk.index, call))
        elif isinstance(chunk, UsageChunk):
            found.append(UsageChunk(shape.counts(chunk.usage)))
        else:
            found.append(chunk)
    return found


class Content(NamedTuple):
    """What of an answer counts: text, reasoning, calls, how it ended, counts."""

    text: str
    reasoning: str
    calls: tuple[tuple[str, str, str], ...]
    kind: str
    usage: TokenUsage | None


def content(chunks: Sequence[StreamChunk]) -> Content:
    ends = {chunk.index: chunk.block for chunk in chunks if isinstance(chunk, BlockEnd)}
    blocks = [block for _, block in sorted(ends.items())]
    last = chunks[-1]
    assert isinstance(last, Finish)
    return Content(
        "".join(block.text for block in blocks if isinstance(block, TextBlock)),
        "".join(block.text for block in blocks if isinstance(block, ReasoningBlock)),
        tuple((block.id, block.name, block.arguments) for block in blocks if isinstance(block, ToolCallBlock)),
        last.reason.kind,
        next((chunk.usage for chunk in chunks if isinstance(chunk, UsageChunk)), None),
    )
