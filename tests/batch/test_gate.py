"""The gate of a route: places, paces and pauses, by a clock that the test moves (B3)."""

import asyncio

import pytest

from limen.batch import Limits
from limen.batch._gate import Pace, RouteGate, refill_s
from limen.contract import RateLimit, RateLimits


class Clock:
    """Seconds that stand where the test puts them."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def turns() -> None:
    """Let every task that can go on do so."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_limits_that_cannot_be() -> None:
    """A limit that no route can have is refused when it is written."""
    for wrong in ({"concurrency": 0}, {"requests_per_minute": 0}, {"tokens_per_minute": float("inf")}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Limits(**wrong)


def test_limits_are_shared_out() -> None:
    """Parts of limits stay within the whole, and each has a place."""
    assert Limits(7, 60, 600).shared(3) == Limits(2, 20, 200)
    assert Limits(1).shared(4) == Limits(1)


def test_a_pace_spaces_evenly() -> None:
    """Sixty a minute are one a second, lateness up to 50 ms being made up for, and a correction moves the next."""
    pace = Pace(60)
    assert pace.wait(100) == 0
    pace.take(1, 100)
    assert pace.wait(100) == pytest.approx(0.95)
    pace.take(1, 100.95)
    assert pace.wait(100.95) == pytest.approx(1)
    pace.correct(2)
    assert pace.wait(100.95) == pytest.approx(3)


async def test_places_are_given_in_order() -> None:
    """No more calls than places are inside, and those who wait come in the order of their coming."""
    gate, inside = RouteGate(Limits(2), clock=Clock()), list[int]()

    async def come(number: int) -> None:
        await gate.enter()
        inside.append(number)

    tasks = [asyncio.create_task(come(number)) for number in range(4)]
    await turns()
    assert inside == [0, 1]
    gate.leave()
    await turns()
    assert inside == [0, 1, 2]
    gate.leave()
    await asyncio.gather(*tasks)
    assert inside == [0, 1, 2, 3]


async def test_who_is_cancelled_gives_the_place_back() -> None:
    """A wait that is cancelled takes no place, also in the moment in which its turn comes."""
    gate = RouteGate(Limits(1), clock=Clock())
    await gate.enter()
    waiting, lucky = asyncio.create_task(gate.enter()), asyncio.create_task(gate.enter())
    await turns()
    waiting.cancel()
    await turns()
    gate.leave()
    lucky.cancel()
    await asyncio.gather(waiting, lucky, return_exceptions=True)
    await asyncio.wait_for(gate.enter(), 1)


async def test_a_hold_keeps_everybody_out() -> None:
    """During a hold nobody comes in; a shorter hold does not end a longer one."""
    gate = RouteGate(Limits(5), clock=asyncio.get_running_loop().time)
    began = asyncio.get_running_loop().time()
    gate.hold(0.05)
    gate.hold(0.01)
    await asyncio.gather(gate.enter(), gate.enter())
    assert asyncio.get_running_loop().time() - began >= 0.05


async def test_tokens_are_corrected_by_what_was_used() -> None:
    """A call that took more tokens than estimated makes the next one wait longer; an unknown count changes nothing."""
    clock = Clock()
    gate = RouteGate(Limits(5, tokens_per_minute=60), clock=clock)
    await gate.enter(1)
    clock.now += 1
    gate.used(1, None)
    gate.used(1, 5)
    second = asyncio.create_task(gate.enter(1))
    await turns()
    assert not second.done()
    clock.now += 4
    gate.leave()
    await asyncio.wait_for(second, 1)


@pytest.mark.parametrize(
    ("limit", "need", "seconds"),
    [
        (None, 1, 0),
        (RateLimit(100, None, 60_000), 1, 0),
        (RateLimit(100, 0, None), 1, 0),
        (RateLimit(100, 1, 60_000), 1, 0),
        (RateLimit(100, 0, 60_000), 1, 0.6),
        (RateLimit(None, 0, 2_000), 1, 2),
        (RateLimit(1_000, 500, 30_000), 600, 6),
        (RateLimit(1_000, 500, 30_000), 9_000, 30),
    ],
)
def test_the_time_until_a_limit_has_room(limit: RateLimit | None, need: float, seconds: float) -> None:
    """A limit fills up evenly until its reset; what the headers do not say is not guessed."""
    assert refill_s(limit, need) == pytest.approx(seconds)


async def test_headers_hold_a_route() -> None:
    """An answer whose headers say that nothing is left holds the route, up to a minute."""
    gate = RouteGate(Limits(), clock=Clock())
    assert gate.heed(None, 1) == 0
    assert gate.heed(RateLimits(RateLimit(10, 5, 1_000)), 1) == 0
    assert gate.heed(RateLimits(RateLimit(10, 0, 1_000), RateLimit(100, 50, 1_000)), 60) == pytest.approx(0.2)
    assert gate.heed(RateLimits(RateLimit(None, 0, 86_400_000)), 1) == 60
    waiting = asyncio.create_task(gate.enter())
    await turns()
    assert not waiting.done()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
