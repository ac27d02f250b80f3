"""Random grammatical chunk streams from a seed, for checks in environments without hypothesis."""

import json
from random import Random

from limen.contract import (
    MAX_TOKENS,
    STOP,
    TOOL_CALLS,
    BlockEnd,
    BlockStart,
    BlockType,
    ChunkGrammar,
    Failure,
    Finish,
    FinishReason,
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

LETTERS = 'ab é漢😀"\\\n\u2028{}[]:,<&\u0000'
KINDS: tuple[BlockType, ...] = ("text", "reasoning", "tool-call")


def stream(seed: int) -> list[StreamChunk]:
    """One stream: blocks that interleave, usage or none, any ending; held to the grammar before it is given out."""
    random = Random(seed)
    reason = random.choice([STOP, TOOL_CALLS, TOOL_CALLS, MAX_TOKENS, "error", "aborted"])
    kinds = [random.choice(KINDS) for _ in range(random.randrange(5))]
    if reason is STOP:
        kinds = [kind for kind in kinds if kind != "tool-call"] + ["text"]
    if reason is TOOL_CALLS:
        kinds.append("tool-call")
    cut = reason is MAX_TOKENS
    chunks = _mixed(random, [_block(random, kind, index, cut=cut) for index, kind in enumerate(kinds)])
    if isinstance(reason, str):
        chunks = chunks[: random.randint(0, len(chunks))]
        reason = FinishReason(reason, Failure(_words(random), "ABORTED" if reason == "aborted" else "SERVER"))
    elif random.random() < 0.8:
        chunks.append(UsageChunk(_usage(random)))
    chunks.append(Finish(reason))
    grammar = ChunkGrammar()
    grammar.feed_all(chunks)
    grammar.eof()
    return chunks


def _words(random: Random) -> str:
    return "".join(random.choice(LETTERS) for _ in range(random.randint(1, 6))) + "x"


def _block(random: Random, kind: BlockType, index: int, *, cut: bool) -> list[StreamChunk]:
    """A block from its start to its end."""
    words = [_words(random) for _ in range(random.randint(1, 4))]
    if kind == "text":
        return [
            BlockStart(index, kind),
            *(TextDelta(index, one) for one in words),
            _end(index, TextBlock("".join(words))),
        ]
    if kind == "reasoning":
        deltas = [ReasoningDelta(index, one) for one in words]
        return [BlockStart(index, kind), *deltas, _end(index, ReasoningBlock("".join(words)))]
    value = {_words(random): random.choice([1.5, None, True, _words(random), [1, _words(random)]]) for _ in words}
    text = json.dumps(value, ensure_ascii=random.random() < 0.5)
    text = text[: random.randint(1, len(text))] if cut else text
    places = sorted(random.randint(0, len(text)) for _ in range(3))
    pieces = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
    call = f"call_{index}"
    fragments = [
        ToolCallDelta(index, call, "add", pieces[0]),
        *(ToolCallDelta(index, call, None, one) for one in pieces[1:] if one),
    ]
    return [BlockStart(index, kind), *fragments, _end(index, ToolCallBlock(call, "add", text))]


def _end(index: int, block: TextBlock | ReasoningBlock | ToolCallBlock) -> BlockEnd:
    return BlockEnd(index, block)


def _mixed(random: Random, blocks: list[list[StreamChunk]]) -> list[StreamChunk]:
    """The chunks of all blocks in any order that keeps each block's own, and opens them one after the other."""
    chunks: list[StreamChunk] = []
    waiting = [list(reversed(block)) for block in blocks]
    opened = 0
    while any(waiting):
        ready = [block for block in waiting[:opened] if block]
        if opened < len(waiting) and (not ready or random.random() < 0.4):
            ready = [waiting[opened]]
            opened += 1
        chunks.append(random.choice(ready).pop())
    return chunks


def _usage(random: Random) -> TokenUsage:
    output = random.randint(0, 500)
    known = random.random() < 0.7
    return TokenUsage(
        input_tokens=random.randint(0, 500) if known else None,
        output_tokens=output,
        cache_read_tokens=random.randint(0, 500) if known else None,
        reasoning_tokens=random.randint(0, output) if known else None,
    )
