"""Log of calls: one INFO line of the logger `limen` for each, without content and without a key."""

import logging
import re

import pytest

import limen
from limen.contract import remember_secret
from runtime._adapters import ANSWER, OPEN, Scripted, asking, failed, serving

SECRET = "sk-log-0123456789abcdef"


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The INFO lines, with their times taken out."""
    found = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    return [re.sub(r"\d+ ms", "N ms", line) for line in found]


async def test_a_call_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """Route, model, outcome, attempts, times and tokens stand on it; the text of the answer and the prompt do not."""
    with caplog.at_level(logging.INFO, "limen"):
        async with serving(Scripted(ANSWER)) as llm:
            await llm.complete(asking())

    assert lines(caplog) == ["route/model-1: stop, 1 attempt, first event N ms, N ms, 3 tokens in, 2 out"]


async def test_a_failed_call_names_its_code(caplog: pytest.LogCaptureFixture) -> None:
    """A failure is told by its code, and what a provider wrote into its message stays out."""
    remember_secret(SECRET)
    with caplog.at_level(logging.INFO, "limen"):
        async with serving(Scripted([failed("QUOTA", f"no money for {SECRET}")])) as llm:
            async with llm.stream(asking()) as stream:
                assert [chunk async for chunk in stream]
            with pytest.raises(limen.LlmError):
                await llm.complete("nowhere/m", "Hi")

    assert lines(caplog) == [
        "route/model-1: error QUOTA, 1 attempt, first event N ms, N ms",
        "nowhere/m: error NO_ADAPTER, 0 attempts, N ms",
    ]
    assert SECRET not in caplog.text


async def test_a_stream_that_is_left_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """Leaving a stream early is its outcome; one that was never read is no call."""
    with caplog.at_level(logging.INFO, "limen"):
        async with serving(Scripted([*OPEN, *ANSWER[2:]])) as llm:
            async with llm.stream(asking()) as stream:
                await anext(aiter(stream))
            async with llm.stream(asking()):
                pass

    assert [line.partition(",")[0] for line in lines(caplog)] == ["route/model-1: aborted ABORTED"]


async def test_a_call_through_an_interceptor_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """The tokens are those that the interceptors let through."""

    async def passing(options: limen.GenerateOptions, following: object) -> object:
        async for chunk in following(options):  # type: ignore[operator]  # a `next`
            yield chunk

    with caplog.at_level(logging.INFO, "limen"):
        async with serving(Scripted(ANSWER)) as llm:
            llm.use(passing)  # type: ignore[arg-type]  # as above
            await llm.complete(asking())

    assert lines(caplog) == ["route/model-1: stop, 1 attempt, first event N ms, N ms, 3 tokens in, 2 out"]


async def test_nobody_listens_nothing_is_written(caplog: pytest.LogCaptureFixture) -> None:
    """Without a listener at INFO no line is made."""
    async with serving(Scripted(ANSWER)) as llm:
        await llm.complete(asking())

    assert lines(caplog) == []
