"""Where a check does not apply, and what it says of adapters that are stranger than wrong."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import msgspec
import pytest

from limen.contract import (
    AbortSignal,
    BlockEnd,
    BlockStart,
    Finish,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    StreamChunk,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
)
from limen.testing.conformance import (
    API_KEY,
    WIRES,
    Endpoint,
    Factory,
    Result,
    WireDescription,
    _outcome,
    check_adapter,
)
from limen.testing.conformance._check import check
from testing._bent import Bent, bent, good, only

CHAT = WIRES["openai-chat"]


def judged(name: str, factory: Factory = good, wire: WireDescription = CHAT) -> Result:
    (result,) = asyncio.run(check_adapter(factory, wire, names=[name])).results
    return result


def stateless(chunk: StreamChunk) -> tuple[StreamChunk, ...]:
    return (Finish(chunk.reason),) if isinstance(chunk, Finish) else (chunk,)


@pytest.mark.parametrize("name", ["state-frame", "state-validated", "state-refused", "state-stays-home"])
def test_an_adapter_without_replay_state(name: str) -> None:
    """What no answer has cannot be judged (R5), and is not held against the adapter."""
    result = judged(name, bent(each=stateless))

    assert (result.verdict, result.detail) == (
        "n/a",
        "the adapter keeps no replay state for any answer that the kit can give",
    )


def test_state_of_an_answer_without_blocks() -> None:
    """State without an entry for a block has none that could be wrong."""
    hidden = bent(each=only(Finish, lambda chunk: (chunk,)))

    assert judged("state-refused", hidden).verdict == "pass"


def test_a_wire_without_reasoning() -> None:
    """Checks that need reasoning do not apply where the wire has none."""
    wire = msgspec.structs.replace(CHAT, reasoning=False)

    assert judged("order-of-ends", wire=wire).verdict == "n/a"
    assert judged("finish-rule", wire=wire).verdict == "pass"


def handing_over_objects(written: Callable[[str], str]) -> Factory:
    """An adapter for a wire that hands over each call whole, its arguments as an object."""

    def whole(chunk: StreamChunk) -> Iterable[StreamChunk]:
        match chunk:
            case ToolCallDelta():
                return ()
            case BlockEnd(index=index, block=ToolCallBlock() as call):
                arguments = written(call.arguments)
                block = msgspec.structs.replace(call, arguments=arguments)
                return (ToolCallDelta(index, call.id, call.name, arguments), BlockEnd(index, block))
            case _:
                return (chunk,)

    return bent(each=whole)


def compact(arguments: str) -> str:
    return msgspec.json.format(arguments, indent=-1)


def parsed(arguments: str) -> str:
    return json.dumps(json.loads(arguments), separators=(",", ":"))


@pytest.mark.parametrize(("written", "verdict"), [(compact, "pass"), (parsed, "fail")])
def test_a_wire_that_hands_over_objects(written: Callable[[str], str], verdict: str) -> None:
    """Where arguments are objects, their bytes without white space are the string; parsing them loses digits (C8)."""
    wire = msgspec.structs.replace(CHAT, arguments="object")

    assert judged("raw-arguments", handing_over_objects(written), wire).verdict == verdict


def test_a_wire_that_hands_over_objects_cuts_none_short() -> None:
    """A call that is an object arrives whole or not at all, so none is cut (C17)."""
    wire = msgspec.structs.replace(CHAT, arguments="object")

    assert judged("cut-call", wire=wire).verdict == "n/a"


def test_a_wire_that_reports_few_counts() -> None:
    """What a wire does not count is unknown, and an adapter that knows it all the same has invented it (C5)."""
    wire = msgspec.structs.replace(CHAT, counts=("input_tokens", "output_tokens"))
    unknown = {"cache_read_tokens": None, "cache_write_tokens": None, "reasoning_tokens": None}

    def two(chunk: StreamChunk) -> tuple[StreamChunk, ...]:
        if isinstance(chunk, UsageChunk):
            return (UsageChunk(msgspec.structs.replace(chunk.usage, **unknown)),)
        return (chunk,)

    assert judged("usage-counts", bent(each=two), wire).verdict == "pass"
    assert judged("usage-counts", wire=wire).verdict == "fail"
    assert judged("usage-counts").verdict == "pass"


def test_a_wire_that_refuses_unknown_events() -> None:
    """A wire may forbid what nobody documented; then ignoring it is the failure (C15)."""
    wire = msgspec.structs.replace(CHAT, unknown_events="refuse")

    assert judged("unknown-event", wire=wire).verdict == "fail"


def test_without_openssl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no certificate can be made, the half that needs none is still judged."""
    monkeypatch.setenv("PATH", "")
    result = judged("tls-verified")

    assert (result.verdict, "openssl" in result.detail) == ("n/a", True)


class Strange(Bent):
    """Answers with what types forbid."""

    nonsense: Any = "nonsense"

    async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> Any:
        return self.nonsense

    async def list_models(self, provider: str) -> Any:
        return self.nonsense

    def __repr__(self) -> str:
        return f"Strange({API_KEY})"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("one-model", "returned a str, no ModelInfo"),
        ("model-list", "returned a str, no sequence"),
        ("no-credentials", "the key can be read in the adapter's repr"),
    ],
)
def test_answers_of_a_strange_type(name: str, words: str) -> None:
    """What is of no type that the interface knows is a finding in words."""
    result = judged(name, lambda endpoint: Strange(good(endpoint)))

    assert result.verdict == "fail"
    assert words in result.detail


def test_a_call_that_ends_before_its_request() -> None:
    """An adapter that fails at once cannot be aborted, and the check says what it saw instead."""

    async def fails(inner: AsyncIterator[StreamChunk]) -> AsyncIterator[StreamChunk]:
        for failure in (LlmError("never", "SERVER"),):
            raise failure
        async for chunk in inner:
            yield chunk

    result = judged("abort", bent(around=fails))

    assert result.detail == "stall-before-headers: the call ended before the provider fell silent"
    assert result.stream == ['raised LlmError {"message":"never","code":"SERVER"}']


def test_a_stream_that_refuses_at_once() -> None:
    """`stream()` itself may raise; that is one way to refuse, and is judged like the others."""

    class Refuses(Bent):
        def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
            raise LlmError("no", "SERVER", status=500, phase="headers")

    result = judged("text-reply", lambda endpoint: Refuses(good(endpoint)))

    assert result.stream == ['raised LlmError {"message":"no","code":"SERVER","phase":"headers","status":500}']


@pytest.mark.parametrize(("code", "verdict"), [("INVALID_CONFIG", "pass"), ("SERVER", "fail")])
def test_a_factory_that_refuses_plain_http(code: str, verdict: str) -> None:
    """A key over plain http may be refused as early as in the factory, with the right code."""

    def factory(endpoint: Endpoint) -> LlmAdapter:
        if "127.0.0.1" not in endpoint.base_url:
            raise LlmError("no http", code)
        return good(endpoint)

    assert judged("no-key-over-http", factory).verdict == verdict


def test_an_environment_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check that sets proxies puts back what was there."""
    import os

    monkeypatch.setenv("HTTP_PROXY", "http://proxy.test:1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    assert judged("no-environment").verdict == "pass"
    assert (os.environ["HTTP_PROXY"], os.environ["NO_PROXY"]) == ("http://proxy.test:1", "127.0.0.1")


def test_two_checks_have_two_names() -> None:
    """The table of checks refuses a name twice."""
    with pytest.raises(ValueError, match="two checks are named 'text-reply'"):
        check("C1", "text-reply", "again")(judged)  # type: ignore[arg-type] # never run


async def slowly(count: int, pause: float, last: Exception | None = None) -> AsyncIterator[StreamChunk]:
    for index in range(count):
        await asyncio.sleep(pause)
        yield BlockStart(index, "text")
    if last is not None:
        raise last


async def test_a_slow_call_that_goes_on_is_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kit's limit is on a call without progress: a busy machine makes calls slow, and none of them hangs."""
    monkeypatch.setattr(_outcome, "STEP_TIMEOUT_S", 0.5)
    outcome = await _outcome.collect("slow", slowly(8, 0.1))

    assert (len(outcome.chunks), outcome.error) == (8, None)


async def test_a_call_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call without progress, or without an end, is given up with what had arrived."""
    monkeypatch.setattr(_outcome, "STEP_TIMEOUT_S", 0.05)
    with pytest.raises(_outcome.Broken, match="the call did not end") as hung:
        await _outcome.collect("hung", slowly(1, 60))
    monkeypatch.setattr(_outcome, "CALL_TIMEOUT_S", 0.05)
    with pytest.raises(_outcome.Broken, match=r"0\.05 s in all") as endless:
        await _outcome.collect("endless", slowly(10_000, 0.001))

    assert hung.value.outcome == _outcome.Outcome("hung", (), None, ())
    assert endless.value.outcome is not None
    assert 0 < len(endless.value.outcome.chunks) < 10_000


async def test_a_timeout_of_the_adapter_is_its_own() -> None:
    """A `TimeoutError` that the adapter raises is an error of the adapter, not the kit's limit."""
    outcome = await _outcome.collect("raises", slowly(1, 0, TimeoutError("mine")))

    assert (len(outcome.chunks), str(outcome.error)) == (1, "mine")
