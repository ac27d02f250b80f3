"""K5, K2: reloading exchanges the routes of a configuration whole or not at all; running calls keep what they have."""

import asyncio
from collections.abc import Sequence

import pytest

from limen.contract import LlmAdapter, LlmError, codes
from limen.runtime import LlmRuntime
from runtime._adapters import ANSWER, OPEN, Gate, Scripted, asking, chunks_of, serving

Entries = Sequence[tuple[Sequence[str], LlmAdapter]]


class Config:
    """Gives the next set of routes, or fails; notes what it was asked for."""

    def __init__(self, *sets: Entries | LlmError) -> None:
        self.sets = list(sets)
        self.asked: list[object] = []

    async def __call__(self, config: object) -> Entries:
        """Read."""
        self.asked.append(config)
        await asyncio.sleep(0)
        read = self.sets.pop(0)
        if isinstance(read, LlmError):
            raise read
        return read


def names(runtime: LlmRuntime) -> list[str]:
    """The routes that stand."""
    return [info.id for info in runtime.list_providers()]


class Closable(Scripted):
    """Counts how often it is closed."""

    closes = 0

    async def aclose(self) -> None:
        self.closes += 1


async def test_a_runtime_made_by_hand_has_nothing_to_reload() -> None:
    """K5: without a configuration `reload()` says so."""
    with pytest.raises(LlmError) as caught:
        await serving(Scripted()).reload()

    assert caught.value.code == codes.INVALID_CONFIG


async def test_reload_exchanges_the_routes_in_one_step() -> None:
    """K5, R8: one commit, one notice, and routes that were registered by hand stay."""
    config = Config([(["a"], Scripted()), (["b"], Scripted())], [(["b", "c"], Scripted())])
    runtime = LlmRuntime(loader=config)
    runtime.register(["mine"], Scripted())
    told: list[tuple[str, ...]] = []
    runtime.on_topology(told.append)

    await runtime.reload()
    await runtime.reload("other.toml")

    assert told == [("mine", "a", "b"), ("mine", "b", "c")]
    assert config.asked == [None, "other.toml"]


@pytest.mark.parametrize(
    "bad",
    [
        LlmError("limen.toml: routes.a: no", codes.INVALID_CONFIG),
        [(["a"], Scripted()), (["mine"], Scripted())],
        [(["a"], Scripted()), (["a"], Scripted())],
        [(["a"], Scripted()), ([], Scripted())],
    ],
)
async def test_a_bad_reload_leaves_the_last_good_one(bad: Entries | LlmError) -> None:
    """K5: whatever is wrong with it, nothing of it takes effect."""
    first = Scripted()
    config = Config([(["a"], first)], bad, [(["z"], first)])
    runtime = LlmRuntime(loader=config)
    runtime.register(["mine"], Scripted())
    await runtime.reload()

    with pytest.raises(LlmError):
        await runtime.reload()
    assert names(runtime) == ["mine", "a"]

    await runtime.reload()
    assert names(runtime) == ["mine", "z"]


async def test_reloads_at_the_same_time_take_turns() -> None:
    """K5: two reloads do not mix; the later one stands."""
    runtime = LlmRuntime(loader=Config([(["a"], Scripted())], [(["b"], Scripted())]))

    await asyncio.gather(runtime.reload(), runtime.reload())

    assert names(runtime) == ["b"]


async def test_a_call_in_flight_keeps_its_adapter() -> None:
    """K2: what was begun goes on, and its adapter is closed when no open stream needs it; one that stays, is not."""
    gate = Gate()
    leaving, staying = Closable((*OPEN, gate, *ANSWER[2:])), Closable()
    config = Config([(["route"], leaving), (["kept"], staying)], *[[(["route", "kept"], staying)]] * 2)
    runtime = LlmRuntime(loader=config)
    await runtime.reload()
    reading = asyncio.create_task(chunks_of(runtime.stream(asking())))
    await gate.reached.wait()

    await runtime.reload()
    gate.opened.set()

    assert await reading == list(ANSWER)
    assert (leaving.closes, staying.closes) == (0, 0)
    await runtime.reload()
    assert (leaving.closes, staying.closes) == (1, 0)
    await runtime.aclose()
    assert (leaving.closes, staying.closes) == (1, 1)


async def test_an_adapter_that_is_still_needed_at_the_end_is_closed_then() -> None:
    """K2: an adapter that left the configuration while it served a call is closed with the runtime at the latest."""
    leaving = Closable((*OPEN, Gate()))
    runtime = LlmRuntime(loader=Config([(["route"], leaving)], []))
    await runtime.reload()
    stream = runtime.stream(asking())
    await anext(stream)

    await runtime.reload()
    assert leaving.closes == 0
    await runtime.aclose()

    assert (leaving.closes, leaving.left) == (1, 1)


async def test_an_idle_adapter_that_leaves_is_closed_at_once() -> None:
    """K2: where no stream needs it, an adapter that left is closed by the reload, whatever its clean-up says."""

    class Failing(Closable):
        async def aclose(self) -> None:
            await super().aclose()
            raise RuntimeError("stays open")

    leaving = Failing()
    runtime = LlmRuntime(loader=Config([(["route"], leaving)], []))
    runtime.stream(asking())
    await runtime.reload()

    await runtime.reload()

    assert (leaving.closes, names(runtime)) == (1, [])


class Hangs(Scripted):
    """Never finishes closing."""

    async def aclose(self) -> None:
        """Wait for ever."""
        await asyncio.Event().wait()


async def test_an_adapter_that_never_closes_keeps_nobody_else_open() -> None:
    """R1, R11: closing the runtime ends a clean-up that hangs, after all others are closed, and says so."""
    hanging, other = Hangs(), Closable((*OPEN, Gate()))
    runtime = serving(hanging, other)
    stream = runtime.stream(asking("route-2"))
    await anext(stream)

    async with asyncio.timeout(10):
        with pytest.raises(TimeoutError):
            await runtime.aclose()

    assert (other.left, other.closes) == (1, 1)


class Fails(Scripted):
    """Fails to close."""

    async def aclose(self) -> None:
        """Fail."""
        raise OSError("cannot close")


async def test_a_failing_clean_up_does_not_hide_the_consumers_error() -> None:
    """E2, H55: what is raised inside of the runtime's `async with` leaves it unchanged."""
    own = LookupError("mine")

    with pytest.raises(LookupError) as caught:
        async with serving(Fails()):
            raise own
    assert caught.value is own

    with pytest.raises(OSError, match="cannot close"):
        async with serving(Fails()):
            pass
