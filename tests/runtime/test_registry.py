"""R1: routes belong to one adapter; every change is whole or not at all, and no reader sees a gap."""

import threading
from collections.abc import Sequence

import pytest

from limen.contract import (
    GenerateOptions,
    LlmAdapter,
    LlmError,
    ProviderInfo,
    RetryPolicy,
    codes,
)
from limen.runtime import LlmRuntime
from runtime._adapters import ANSWER, Scripted, asking, call_failure, chunks_of, outcome_of, serving


def names(runtime: LlmRuntime) -> list[str]:
    """The routes that stand."""
    return [info.id for info in runtime.list_providers()]


def refused(runtime: LlmRuntime, routes: object, adapter: object = None) -> str:
    """Register what must be refused; return the code."""
    with pytest.raises(LlmError) as caught:
        runtime.register(routes, Scripted() if adapter is None else adapter)  # type: ignore[arg-type]  # on purpose

    return caught.value.code


class Described(Scripted):
    """Describes its routes as the test wants, or fails to."""

    def __init__(self, info: object = None, policy: object = None) -> None:
        super().__init__()
        self.info = info
        self.own_policy = policy

    def provider_info(self, provider: str) -> ProviderInfo:
        if isinstance(self.info, Exception):
            raise self.info
        return ProviderInfo(provider, provider) if self.info is None else self.info  # type: ignore[return-value]  # on purpose

    def retry_policy(self, provider: str) -> RetryPolicy | None:
        return self.own_policy  # type: ignore[return-value]  # on purpose


async def test_a_request_reaches_the_adapter_of_its_route() -> None:
    """R1, R2: `provider` selects the adapter, whose chunks come out as they are."""
    mine, other = Scripted(), Scripted()
    runtime = serving(mine, other)

    chunks = await chunks_of(runtime.stream(asking()))

    assert chunks == list(ANSWER)
    assert (len(mine.seen), len(other.seen)) == (1, 0)


async def test_a_message_is_handed_over_by_identity() -> None:
    """H2: what is immutable already is not copied on its way."""
    adapter = Scripted()
    options = asking()

    await serving(adapter).complete(options)

    assert adapter.seen[0] is options


async def test_an_unknown_route_is_an_outcome_not_an_exception() -> None:
    """E2, R1: a stream for a route that nobody serves ends in `NO_ADAPTER`, naming the routes that there are."""
    failure = await outcome_of(serving(Scripted()).stream(asking("nowhere")))

    assert failure == call_failure(
        "no adapter is registered for the route 'nowhere'; the routes are: route",
        codes.NO_ADAPTER,
        "resolve",
        provider="nowhere",
    )


async def test_a_route_that_is_no_name_is_unknown() -> None:
    """R1: a provider that cannot even be looked up is an unknown one."""
    failure = await outcome_of(LlmRuntime().stream(GenerateOptions([], "m", [])))  # type: ignore[arg-type]  # on purpose

    assert failure.code == codes.NO_ADAPTER
    assert "the routes are: none" in failure.message


@pytest.mark.parametrize(
    ("routes", "code"),
    [
        ([], codes.INVALID_ADAPTER),
        ([""], codes.INVALID_ADAPTER),
        (["new", "  "], codes.INVALID_ADAPTER),
        (["new", 5], codes.INVALID_ADAPTER),
        ("new", codes.INVALID_ADAPTER),
        (7, codes.INVALID_ADAPTER),
        (["new", "new"], codes.DUPLICATE_ADAPTER),
        (["new", "taken"], codes.DUPLICATE_ADAPTER),
    ],
)
def test_a_registration_is_all_or_nothing(routes: object, code: str) -> None:
    """R1: an empty, repeated, taken or malformed name refuses the whole registration."""
    runtime = LlmRuntime()
    runtime.register(["taken"], Scripted())

    assert refused(runtime, routes) == code
    assert names(runtime) == ["taken"]


def test_what_is_no_adapter_is_refused() -> None:
    """R1: only an `LlmAdapter` can be registered."""
    runtime = LlmRuntime()

    assert refused(runtime, ["new"], object()) == codes.INVALID_ADAPTER
    assert names(runtime) == []


@pytest.mark.parametrize(
    "adapter",
    [
        Described(ProviderInfo("other", "Name")),
        Described(ProviderInfo(5, "Name")),  # type: ignore[arg-type]  # on purpose
        Described(ProviderInfo("new", "")),
        Described("new"),
        Described(RuntimeError("no idea")),
        Described(policy="always"),
    ],
)
def test_malformed_metadata_is_refused(adapter: LlmAdapter) -> None:
    """R1, H13: route metadata with another id, without a name, of another type, or not given at all."""
    runtime = LlmRuntime()

    assert refused(runtime, ["new"], adapter) == codes.INVALID_ADAPTER
    assert names(runtime) == []


def test_a_foreign_failure_of_metadata_is_chained_without_its_secret() -> None:
    """E5: what `provider_info` raised is the cause, or a stand-in where it holds a credential."""
    runtime = LlmRuntime()

    with pytest.raises(LlmError) as caught:
        runtime.register(["new"], Described(RuntimeError("Bearer abcdefghijklmnop")))

    assert "abcdefghijklmnop" not in f"{caught.value} {caught.value.__cause__!r}"
    assert str(caught.value.__cause__) == "RuntimeError: Bearer [redacted]"


def test_an_adapter_without_metadata_is_named_after_its_route() -> None:
    """H8: the base class names a route by its id."""
    runtime = serving(Scripted())

    assert runtime.list_providers() == [ProviderInfo("route", "route")]


def test_listings_are_the_callers_own() -> None:
    """H7: changing a listing changes nothing in the registry."""
    runtime = serving(Scripted())

    runtime.list_providers().clear()

    assert names(runtime) == ["route"]


def test_the_policy_is_read_once_at_registration() -> None:
    """R1, H3: later changes of an adapter's mind do not count; none is the normal policy; unknown is `NO_ADAPTER`."""
    adapter = Described(policy=RetryPolicy(max_retries=2))
    runtime = serving(adapter, Scripted())
    adapter.own_policy = RetryPolicy(max_retries=9)

    assert runtime.retry_policy("route") == RetryPolicy(max_retries=2)
    assert runtime.retry_policy("route-2") == RetryPolicy()
    with pytest.raises(LlmError, match="no adapter") as caught:
        runtime.retry_policy("nowhere")
    assert caught.value.code == codes.NO_ADAPTER


def test_dispose_frees_the_routes_and_may_be_repeated() -> None:
    """R1: `dispose()` removes all routes of a registration, twice is harmless, and they can be taken again."""
    runtime = LlmRuntime()
    handle = runtime.register(["a", "b"], Scripted())

    handle.dispose()
    handle.dispose()
    runtime.register(["b", "a"], Scripted())

    assert handle.routes == ()
    assert handle.disposed
    assert names(runtime) == ["b", "a"]


def test_a_registration_is_a_context_manager() -> None:
    """R1: leaving the `with` disposes."""
    runtime = LlmRuntime()
    adapter = Scripted()

    with runtime.register(["a"], adapter) as handle:
        assert (handle.adapter, handle.routes) == (adapter, ("a",))

    assert names(runtime) == []


def test_replace_exchanges_the_routes_of_one_registration() -> None:
    """R1: `replace()` may reuse its own names and may be empty; others stay untouched."""
    runtime = LlmRuntime()
    handle = runtime.register(["a", "b"], Scripted())
    runtime.register(["x"], Scripted())

    handle.replace(["b", "c"])
    assert names(runtime) == ["x", "b", "c"]

    handle.replace([])
    assert names(runtime) == ["x"]

    handle.replace(["a"])
    assert names(runtime) == ["x", "a"]


@pytest.mark.parametrize("routes", [["x"], ["c", "c"], [""], ["c", "x"]])
def test_a_refused_replace_changes_nothing(routes: Sequence[str]) -> None:
    """R1: on a collision or a malformed name the old routes stay."""
    runtime = LlmRuntime()
    handle = runtime.register(["a", "b"], Scripted())
    runtime.register(["x"], Scripted())

    with pytest.raises(LlmError) as caught:
        handle.replace(routes)

    assert caught.value.code in (codes.DUPLICATE_ADAPTER, codes.INVALID_ADAPTER)
    assert names(runtime) == ["a", "b", "x"]


def test_replace_after_dispose_is_refused() -> None:
    """R1: a disposed registration has no routes to exchange."""
    handle = LlmRuntime().register(["a"], Scripted())
    handle.dispose()

    with pytest.raises(LlmError) as caught:
        handle.replace(["b"])

    assert caught.value.code == codes.REGISTRATION_DISPOSED


async def test_running_streams_go_on_after_dispose() -> None:
    """R1: what has begun at a route ends there, whatever becomes of the route."""
    runtime = LlmRuntime()
    handle = runtime.register(["route"], Scripted())
    stream = runtime.stream(asking())
    first = await anext(stream)

    handle.dispose()

    assert [first, *[chunk async for chunk in stream]] == list(ANSWER)


def test_no_reader_sees_a_gap_while_threads_commit() -> None:
    """R1: under replacement from several threads, every look at the registry shows whole sets only."""
    runtime = LlmRuntime()
    first = runtime.register(["a1", "a2"], Scripted())
    second = runtime.register(["b1", "b2"], Scripted())
    torn: list[list[str]] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen = names(runtime)
            if len([name for name in seen if name[0] == "a"]) != 2 or len([n for n in seen if n[0] == "b"]) != 2:
                torn.append(seen)

    def churn(handle: "object", prefix: str) -> None:
        for turn in range(300):
            handle.replace([f"{prefix}{turn}", f"{prefix}{turn}x"])  # type: ignore[attr-defined]  # a Registration

    readers = [threading.Thread(target=look) for _ in range(2)]
    writers = [threading.Thread(target=churn, args=pair) for pair in ((first, "a"), (second, "b"))]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()

    assert torn == []
    assert sorted(names(runtime)) == ["a299", "a299x", "b299", "b299x"]


def test_threads_that_want_one_name_get_it_once() -> None:
    """R1: of many registrations of one name at the same time, one stands and the others are refused."""
    runtime = LlmRuntime()
    outcomes: list[str] = []
    start = threading.Barrier(8)

    def take() -> None:
        start.wait()
        try:
            runtime.register(["one", "two"], Scripted())
        except LlmError as refusal:
            outcomes.append(refusal.code)
        else:
            outcomes.append("taken")

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == [codes.DUPLICATE_ADAPTER] * 7 + ["taken"]
    assert names(runtime) == ["one", "two"]
