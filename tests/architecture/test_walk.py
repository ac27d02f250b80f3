"""The walk of a request: how many files are entered before its first byte leaves."""

import socket
import sys
from types import FrameType

from _source import SRC

import limen
from limen.adapters.openai_chat import OpenAIChatAdapter, OpenAIChatOptions
from limen.testing.server import MockProvider

# Written down when it was reached; a whole round trip of httpcore enters 10 files.
FILES_MAX = 20


async def test_few_files_are_entered_before_the_first_byte() -> None:
    """A call on a kept connection enters at most 20 of limen's files before the socket is written."""
    entered: set[str] = set()
    written = False

    def watch(frame: FrameType, kind: str, argument: object) -> None:
        nonlocal written
        if kind == "c_call" and getattr(argument, "__name__", "") in ("send", "sendmsg"):
            written = written or isinstance(getattr(argument, "__self__", None), socket.socket)
        path = frame.f_code.co_filename
        if kind == "call" and not written and path.startswith(str(SRC)) and "/testing/" not in path:
            entered.add(path.removeprefix(f"{SRC}/"))

    async with MockProvider("text") as mock, limen.LlmRuntime() as llm:
        llm.use(limen.Retry())
        options = OpenAIChatOptions(base_url=mock.base_url("openai-chat"), api_key="sk-0123456789abcdef")
        llm.register(["mine"], OpenAIChatAdapter(options))
        asked = limen.GenerateOptions("mine", "m", [limen.user("hi")])
        for _ in range(3):
            await llm.complete(asked)
        sys.setprofile(watch)
        try:
            async with llm.stream(asked) as stream:
                async for _ in stream:
                    break
        finally:
            sys.setprofile(None)

    assert written
    assert len(entered) <= FILES_MAX, sorted(entered)
