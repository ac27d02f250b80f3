"""A module in the place of `litellm`: objects of its shapes, and no network."""

import importlib.machinery
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import ModuleType, SimpleNamespace

import pytest

Step = object | BaseException | Callable[[], object]


def part(
    *, content: str | None = None, finish: str | None = None, index: int = 0, usage: object = None, **delta: object
) -> SimpleNamespace:
    """A chunk of a stream, as `litellm` gives it out."""
    choice = SimpleNamespace(index=index, delta=SimpleNamespace(content=content, **delta), finish_reason=finish)
    return SimpleNamespace(id="chatcmpl-1", model="served-model", choices=[choice], usage=usage)


def call(index: int | None, id_: object, name: str | None, arguments: str | None) -> SimpleNamespace:
    """A fragment of a tool call."""
    return SimpleNamespace(index=index, id=id_, function=SimpleNamespace(name=name, arguments=arguments))


class Answer:
    """A wrapper of a stream: gives out its steps one by one, raises those that are exceptions."""

    def __init__(self, steps: Sequence[Step], received: object = "stop") -> None:
        self._steps = list(steps)
        self.received_finish_reason = received
        self.intermittent_finish_reason = None
        self.closed = 0

    def __aiter__(self) -> AsyncIterator[object]:
        return self

    async def __anext__(self) -> object:
        if not self._steps:
            raise StopAsyncIteration
        step = self._steps.pop(0)
        if isinstance(step, BaseException):
            raise step
        if callable(step):
            return await step()
        return step

    async def aclose(self) -> None:
        self.closed += 1


class Fake(ModuleType):
    """The module: `answer` is what a call gives out or raises, `calls` the arguments of each."""

    def __init__(self) -> None:
        super().__init__("litellm")
        self.__spec__ = importlib.machinery.ModuleSpec("litellm", None)
        self.answer: object = Answer([])
        self.calls: list[Mapping[str, object]] = []
        self.supported: object = [
            "tools", "tool_choice", "parallel_tool_calls", "response_format", "temperature", "top_p", "max_tokens",
            "stop", "seed", "reasoning_effort",
        ]  # fmt: skip
        self.dropped: set[str] = set()

    async def acompletion(self, **arguments: object) -> object:
        self.calls.append(arguments)
        answer = self.answer
        if isinstance(answer, BaseException):
            raise answer
        return await answer() if callable(answer) else answer

    def get_supported_openai_params(self, model: str, custom_llm_provider: str | None) -> object:
        return self.supported

    def get_optional_params(self, *, model: str, custom_llm_provider: str | None, **given: object) -> object:
        return {name: value for name, value in given.items() if name not in self.dropped}

    def get_llm_provider(self, model: str, custom_llm_provider: str | None) -> object:
        return (model.partition("/")[2], model.partition("/")[0], None, None)


def install(monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Put a fake in the place of the library, for one test."""
    fake = Fake()
    monkeypatch.setitem(sys.modules, "litellm", fake)
    return fake


def raised(module: str, name: str, text: str, base: type[Exception] = Exception, **facts: object) -> Exception:
    """An exception of a package's own class, with attributes."""
    error: Exception = type(name, (base,), {"__module__": module})(text)
    for fact, value in facts.items():
        setattr(error, fact, value)
    return error
