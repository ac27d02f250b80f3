"""R5: replay state reaches an adapter only where it made it, and still owns both routes."""

from collections.abc import Mapping

import msgspec
import pytest

from limen.contract import (
    STOP,
    BlockEnd,
    BlockStart,
    CallFacts,
    Finish,
    GenerateOptions,
    LlmAdapter,
    Message,
    ModelSource,
    ReplayDrop,
    TextBlock,
    TextDelta,
    decode_message,
    encode,
    user,
)
from limen.runtime import LlmRuntime
from runtime._adapters import ANSWER, Scripted, asking, serving

STATE: Mapping[str, object] = {"v": 1, "wire": "test", "blocks": ({"signature": "c2ln"},)}
FOREIGN = "its route and the target route are not owned by the same adapter now"


OWN = ModelSource("route", "model-1")


def turn(source: ModelSource | None = OWN) -> Message:
    """An earlier turn with replay state."""
    return Message("assistant", (TextBlock("Hello"),), source=source, replay_state=STATE)


def history(*turns: Message) -> list[Message]:
    """Turns with a question before each and after the last."""
    return [message for each in turns for message in (user("Hi"), each)] + [user("And?")]


async def seen_by(runtime: LlmRuntime, adapter: Scripted, options: GenerateOptions) -> tuple[object, object]:
    """What the adapter got, and what the response reports as dropped."""
    response = await runtime.complete(options)
    return adapter.seen[-1].messages, response.replay_dropped


async def test_state_returns_to_the_instance_that_made_it() -> None:
    """R5, H65: one instance owns both routes, now: the state passes, and the very options with it."""
    adapter = Scripted()
    runtime = LlmRuntime()
    runtime.register(["route", "other"], adapter)
    options = asking("other", history(turn()))

    await runtime.complete(options)

    assert adapter.seen == [options]
    assert adapter.seen[0] is options


@pytest.mark.parametrize("source", [ModelSource("route-2", "m"), ModelSource("nowhere", "m")])
async def test_state_of_another_instance_is_dropped_and_reported(source: ModelSource) -> None:
    """R5, H66: state of another adapter, or of a route that nobody owns now, is taken out; the rest stays."""
    adapter, other = Scripted(), Scripted()
    runtime = serving(adapter, other)

    messages, dropped = await seen_by(runtime, adapter, asking(messages=history(turn(source))))

    plain = msgspec.structs.replace(turn(source), replay_state=None)
    assert messages == (user("Hi"), plain, user("And?"))
    assert dropped == (ReplayDrop(FOREIGN, 1),)


async def test_ownership_is_judged_now() -> None:
    """R5: what counts is who owns the routes at dispatch: a new process, or a new owner of both, reads stored state."""
    old, new = Scripted(), Scripted()
    runtime = LlmRuntime()
    runtime.register(["route"], old).dispose()
    runtime.register(["route"], new)

    messages, dropped = await seen_by(runtime, new, asking(messages=history(turn())))

    assert messages == tuple(history(turn()))
    assert dropped == ()


async def test_state_without_a_source_is_dropped() -> None:
    """R5: a message that does not say which route made it cannot prove whose its state is."""
    adapter = Scripted()

    _, dropped = await seen_by(serving(adapter), adapter, asking(messages=history(turn(None))))

    assert dropped == (ReplayDrop("the message does not say which route made it", 1),)


async def test_a_target_that_is_not_owned_now_gets_nothing() -> None:
    """R5: a prepared call whose route belongs to another by now is dispatched to its adapter, without state."""
    adapter = Scripted()
    runtime = LlmRuntime()
    handle = runtime.register(["route", "kept"], adapter)
    call = await runtime.prepare_call(asking(messages=history(turn(ModelSource("kept", "m")))))
    handle.replace(["kept"])

    response = await call.stream().response()

    assert response.replay_dropped == (ReplayDrop(FOREIGN, 1),)


async def test_the_callers_messages_stay_as_they_are() -> None:
    """R5, H67: what is taken out is taken out of a copy."""
    adapter = Scripted()
    messages = history(turn(ModelSource("nowhere", "m")))
    options = asking(messages=messages)
    before = encode(options)

    await serving(adapter).complete(options)

    assert encode(options) == before
    assert messages[1].replay_state == STATE
    assert adapter.seen[0].messages[0] is messages[0]


async def test_a_turn_of_foreign_state_alone_is_left_out() -> None:
    """R5, N1: without its state such a turn would be empty, so it goes, and later reports keep the caller's indexes."""
    empty = Message("assistant", (), source=ModelSource("nowhere", "m"), replay_state={"v": 1})

    class Reporting(LlmAdapter):
        """Reports a drop of its own, by the index that it sees."""

        messages: tuple[Message, ...] = ()

        def stream(self, options: GenerateOptions):  # type: ignore[no-untyped-def] # noqa: ANN202
            self.messages = tuple(options.messages)
            facts = CallFacts()
            facts.replay_dropped = [ReplayDrop("old", 1), ReplayDrop("answer"), ReplayDrop("odd", 99)]

            class Stream:
                call_facts = facts
                chunks = iter(ANSWER)

                def __aiter__(self) -> "Stream":
                    return self

                async def __anext__(self) -> object:
                    for chunk in self.chunks:
                        return chunk
                    raise StopAsyncIteration

            return Stream()

    adapter = Reporting()
    runtime = LlmRuntime()
    runtime.register(["route"], adapter)

    response = await runtime.complete(asking(messages=[user("Hi"), empty, user("again"), user("And?")]))

    assert adapter.messages == (user("Hi"), user("again"), user("And?"))
    assert response.replay_dropped == (
        ReplayDrop(FOREIGN + "; the turn holds nothing else and is left out", 1),
        ReplayDrop("old", 2),
        ReplayDrop("answer"),
        ReplayDrop("odd", 99),
    )


async def test_an_answer_carries_its_state_to_the_next_turn() -> None:
    """R5, N4: state of a successful finish goes into the message, through JSON, and back to its owner."""
    finish = Finish(STOP, STATE)
    script = (BlockStart(0, "text"), TextDelta(0, "Hello"), BlockEnd(0, TextBlock("Hello")), finish)
    adapter = Scripted(script)
    runtime = serving(adapter)

    response = await runtime.complete(asking())
    assert response.message == turn()
    stored = decode_message(encode(response.message))
    await runtime.complete(asking(messages=history(stored)))

    assert adapter.seen[1].messages[1].replay_state == STATE
    assert response.replay_state == STATE


async def test_misaligned_state_of_an_answer_is_dropped_and_reported() -> None:
    """R5, H76: state that does not have one entry for each block is not kept."""
    finish = Finish(STOP, {"v": 1, "wire": "test", "blocks": []})
    script = (BlockStart(0, "text"), TextDelta(0, "Hello"), BlockEnd(0, TextBlock("Hello")), finish)

    response = await serving(Scripted(script)).complete(asking())

    assert response.replay_state is None
    assert response.replay_dropped == (ReplayDrop("the answer's replay state does not have one entry for each block"),)
