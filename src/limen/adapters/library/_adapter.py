"""LiteLLM behind the boundary: the adapter, its options, and the one place that calls the library."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Final, Protocol, TypeVar, runtime_checkable

import msgspec
from msgspec.structs import replace

from limen.adapters._endpoint import user_agent
from limen.adapters.kit import BuildContext
from limen.adapters.library._parse import read_names, read_provider, read_raised
from limen.adapters.library._request import MAPPED, write_arguments
from limen.adapters.library._translate import Judged, Translator, judged
from limen.contract import (
    AbortSignal,
    CallFacts,
    CredentialSource,
    Failure,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    ModelInfo,
    Phase,
    RetryPolicy,
    StaticCredential,
    StreamChunk,
    Timeouts,
    address_fault,
    check_request,
    clean_key,
    codes,
    encode,
    is_plain_and_far,
)

T = TypeVar("T")

# The library's clean-up of a connection; it is waited for, as leaving closes before it returns (R11).
_CLOSING_S: Final = 5.0


class LiteLlmOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the adapter `litellm`; keyword-only, and no repr shows the key.

    - `provider`: the library's name of the provider, such as `mistral`. With it the model's id goes to the provider
      as it is; without it the id begins with the provider, such as `mistral/some-model`.
    - `base_url`, `api_key`: address and key; a key may be a source that is asked once per call (K2, K7).
    - `library_credentials`: lets a route without a key use what the library finds by its own rules, in its own
      environment variables and files. Otherwise such a route says `MISSING_CREDENTIAL`.
    - `models`, `default_max_tokens`, `headers`, `timeouts`, `retry`, `app`: as for every other adapter. Of the limits
      `connect` and `idle_bytes` are the library's own to keep, and are not passed on.
    - `allow_plain_http`: lets a key go over plain http to a host that is not this machine (K6).

    Wrong options are `INVALID_CONFIG`, and so is a missing library.
    """

    provider: str | None = None
    base_url: str | None = None
    api_key: str | CredentialSource | None = None
    library_credentials: bool = False
    allow_plain_http: bool = False
    models: Sequence[ModelInfo] = ()
    default_max_tokens: int | None = None
    headers: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    timeouts: Timeouts = msgspec.field(default_factory=Timeouts)
    retry: RetryPolicy | None = None
    app: str | None = None

    def __repr__(self) -> str:
        return f"LiteLlmOptions(provider={self.provider!r}, base_url={self.base_url!r}, api_key=…)"


def _wrong(message: str) -> LlmError:
    return LlmError(message, codes.INVALID_CONFIG, phase="resolve")


def _check_address(options: LiteLlmOptions) -> None:
    if options.base_url is None:
        return
    fault = address_fault(options.base_url)
    if fault is not None:
        raise _wrong(f"base_url: {fault}")
    if is_plain_and_far(options.base_url) and not options.allow_plain_http:
        raise _wrong(
            "base_url is plain http to another machine, which would show the key to everyone on the way; use https, "
            "or set allow_plain_http if the network is trusted"
        )


@runtime_checkable
class _Library(Protocol):
    """The functions of `litellm` that are called; what they return is read as unknown."""

    def acompletion(self, **arguments: object) -> Awaitable[object]: ...

    def get_supported_openai_params(self, model: str, custom_llm_provider: str | None) -> object: ...

    def get_optional_params(self, **arguments: object) -> object: ...

    def get_llm_provider(self, model: str, custom_llm_provider: str | None) -> object: ...


@runtime_checkable
class _Answer(Protocol):
    def __anext__(self) -> Awaitable[object]: ...


@runtime_checkable
class _Closes(Protocol):
    def aclose(self) -> Awaitable[object]: ...


class LiteLlmAdapter(LlmAdapter):
    """Any provider that `litellm` knows, behind limen's boundary.

    - one attempt per call: the library's retries and fallbacks are off (Q5)
    - its objects are read as unknown; what it raises becomes a code by classes, status and body, never by a claim
    - the signal, leaving the stream and the limits end the library's request (Q6, T1)
    - fields that the library would drop for a provider are refused (Q1)
    - a stream without a finish word is `STREAM_CLOSED`, also where the library makes one up
    """

    def __init__(self, options: LiteLlmOptions) -> None:
        if find_spec("litellm") is None:
            raise _wrong("the adapter litellm needs the package litellm: pip install 'limen[litellm]'")
        _check_address(options)
        self._options = options
        key = options.api_key
        self._source = StaticCredential(key) if isinstance(key, str) else key
        self._models = {model.id: model for model in options.models}

    def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Return the stream of one call; what is wrong with the request is raised by its first step."""
        return _LibraryStream(lambda facts: self._run(options, facts))

    def retry_policy(self, provider: str) -> RetryPolicy | None:
        """Return the policy of the options."""
        return self._options.retry

    async def list_models(self, provider: str) -> Sequence[ModelInfo]:
        """Return the configured models: the library's own table is no statement of the provider's."""
        return tuple(replace(model, provider=provider) for model in self._models.values())

    async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
        """Return the configured facts of a model, or its identity (R10)."""
        known = self._models.get(model)
        return ModelInfo(provider, model, model) if known is None else replace(known, provider=provider)

    async def _run(self, options: GenerateOptions, facts: CallFacts) -> AsyncGenerator[StreamChunk, None]:
        check_request(options)
        call = _Call(options.signal, _limits(self._options.timeouts, options.timeouts))
        call.check()
        key = await self._key(options.provider)
        library = await _library()
        arguments = call.checked(lambda: self._arguments(library, options, facts))
        translator = Translator(lambda: encode(options.messages), facts)
        answer: object = None
        try:
            opening = library.acompletion(**arguments, api_key=key)
            answer = await call.step(opening, "headers")
            if not isinstance(answer, _Answer):
                raise LlmError(f"litellm gave out a {type(answer).__name__}, which is no stream", "MALFORMED_RESPONSE")
            while (part := await call.step(_next(answer), call.phase(translator))) is not _END:
                if facts.first_event_ms is None:
                    facts.first_event_ms = call.since_began_ms
                for chunk in translator.feed(part):
                    yield chunk
            for chunk in translator.eof(_received(answer)):
                yield chunk
            return
        except _InBand as told:
            last = translator.failed(told.failure)
        finally:
            await _close(answer)
        for chunk in last:
            yield chunk

    def _arguments(self, library: _Library, options: GenerateOptions, facts: CallFacts) -> dict[str, object]:
        own = self._options
        supported = read_names(library.get_supported_openai_params(options.model, own.provider))
        context = BuildContext(self._models.get(options.model), own.default_max_tokens)
        arguments = write_arguments(options, context, supported)
        facts.replay_dropped = context.replay_dropped
        _check_dropped(library, options, own.provider, arguments)
        headers = {name: value for name, value in own.headers.items() if name.lower() != "user-agent"}
        optional = {"custom_llm_provider": own.provider, "api_base": own.base_url}
        return {
            **arguments,
            **{name: value for name, value in optional.items() if value is not None},
            "model": options.model,
            "stream": True,
            "stream_options": {"include_usage": True},
            "extra_headers": {**headers, "User-Agent": user_agent(own.app)},
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": False,
        }

    async def _key(self, provider: str) -> str | None:
        source = self._source
        if source is None:
            if self._options.library_credentials:
                return None
            words = "no place is named for a key; name one, or set library_credentials to let litellm look for its own"
            raise LlmError(f"the route {provider} has no key: {words}", codes.MISSING_CREDENTIAL, phase="resolve")
        key = await source.api_key()
        if key is None or not key.strip():
            words = f"{source.reference} holds none"
            raise LlmError(f"the route {provider} has no key: {words}", codes.MISSING_CREDENTIAL, phase="resolve")
        return clean_key(key, source.reference)


class _LibraryStream:
    """The chunks of one call, with the facts beside them (`ReportsCall`)."""

    def __init__(self, run: Callable[[CallFacts], AsyncGenerator[StreamChunk, None]]) -> None:
        self.call_facts = CallFacts()
        self._steps = run(self.call_facts)
        self._loop: asyncio.AbstractEventLoop | None = None

    def __aiter__(self) -> "_LibraryStream":
        return self

    async def __anext__(self) -> StreamChunk:
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise RuntimeError("this stream belongs to another event loop")
        return await self._steps.__anext__()

    async def aclose(self) -> None:
        """End the library's request before returning."""
        await self._steps.aclose()


class _InBand(Exception):
    """An error that the provider told of inside its stream; the stream ends with it (E1)."""

    def __init__(self, failure: Failure) -> None:
        super().__init__()
        self.failure = failure


class _Call:
    """One call's limits and its signal; each await of the library is a `step`, which both of them may end."""

    def __init__(self, signal: AbortSignal | None, limits: Timeouts) -> None:
        self._signal = signal
        self._limits = limits
        self._began = time.monotonic()

    @property
    def since_began_ms(self) -> float:
        """Milliseconds since the call began."""
        return (time.monotonic() - self._began) * 1000

    def phase(self, translator: Translator) -> Phase:
        """Return how far the call has come once it was answered."""
        return "mid-stream" if translator.events else "first-event"

    def check(self) -> None:
        """Raise `ABORTED` if the call was aborted."""
        if self._signal is not None and self._signal.aborted:
            raise LlmError("the call was aborted", codes.ABORTED)

    def checked(self, work: Callable[[], T]) -> T:
        """Return what the library says without I/O; what it raises becomes a failure of limen's."""
        try:
            return work()
        except LlmError:
            raise
        except Exception as error:  # noqa: BLE001 - as in `step`
            found = judged(read_raised(error), phase="resolve")
        raise LlmError.of(found.failure)

    async def step(self, work: Awaitable[T], phase: Phase) -> T:
        """Await one step of the library, and raise what it raises as a failure of limen's."""
        loop = asyncio.get_running_loop()
        limit = self._left(phase)
        scope = asyncio.timeout(limit)
        try:
            async with scope:
                remove = self._watch(loop, scope)
                try:
                    return await work
                finally:
                    remove()
        except Exception as error:  # noqa: BLE001 - whatever the library raises; its classes have no base in common
            if scope.expired():
                found = Judged(Failure(f"no event came within {limit:g} s", codes.TIMEOUT, phase=phase))
            else:
                found = judged(read_raised(error), phase=phase)
        # Raised out here, so that no exception chain holds what a foreign exception says (E5).
        self.check()
        if found.told:
            raise _InBand(found.failure)
        raise LlmError.of(found.failure)

    def _watch(self, loop: asyncio.AbstractEventLoop, scope: asyncio.Timeout) -> Callable[[], None]:
        if self._signal is None:
            return _nothing

        def end() -> None:
            if watched:
                scope.reschedule(loop.time())

        def wake() -> None:
            loop.call_soon_threadsafe(end)

        # Emptied when the step is over: what was under way by then must not touch a scope that has ended.
        watched = [scope]
        remove = self._signal.on_abort(wake)

        def done() -> None:
            remove()
            watched.clear()

        return done

    def _left(self, phase: Phase) -> float:
        limits = self._limits
        limit = limits.idle_event if phase == "mid-stream" else limits.first_event
        if phase == "first-event":
            limit -= time.monotonic() - self._began
        if limits.total is not None:
            limit = min(limit, limits.total - (time.monotonic() - self._began))
        return max(limit, 0.0)


_END: Final = object()


async def _next(answer: _Answer) -> object:
    try:
        return await answer.__anext__()
    except StopAsyncIteration:
        return _END


def _nothing() -> None:
    """Remove nothing."""


def _received(answer: object) -> str | None:
    """Return the finish word that the library's wrapper had from the provider; "" for a wrapper that keeps none.

    `None` where it had none: the word in its last chunk is then made up.
    """
    kept = [getattr(answer, name, "") for name in ("received_finish_reason", "intermittent_finish_reason")]
    words = [word for word in kept if isinstance(word, str)]
    return words[0] if words else None


def _check_dropped(
    library: _Library, options: GenerateOptions, provider: str | None, arguments: Mapping[str, object]
) -> None:
    """Refuse each field without which the library would write the same request: it would drop it in silence (Q1)."""
    provider = provider or read_provider(library.get_llm_provider(options.model, None))
    given = {name: value for name, value in arguments.items() if name in MAPPED}
    whole = library.get_optional_params(model=options.model, custom_llm_provider=provider, **given)
    for name, value in given.items():
        # Several calls at once are what a provider allows unless it is told not to.
        if name == "tools" or (name == "parallel_tool_calls" and value is True):
            continue
        less = {other: kept for other, kept in given.items() if other != name}
        if library.get_optional_params(model=options.model, custom_llm_provider=provider, **less) == whole:
            words = f"{name} cannot be sent to {options.provider}/{options.model}: litellm drops it for this provider"
            raise LlmError(words, codes.UNSUPPORTED, phase="resolve")


async def _close(answer: object) -> None:
    if not isinstance(answer, _Closes):
        return
    try:
        async with asyncio.timeout(_CLOSING_S):
            await answer.aclose()
    except Exception:  # noqa: BLE001 - a clean-up that fails changes nothing: the outcome is known
        return


def _limits(route: Timeouts, call: Timeouts | None) -> Timeouts:
    """Return a route's limits with those of a call in their place, field by field."""
    if call is None:
        return route
    default = Timeouts()
    given = {name: getattr(call, name) for name in Timeouts.__struct_fields__}
    return replace(route, **{name: value for name, value in given.items() if value != getattr(default, name)})


async def _library() -> _Library:
    """Import the library, off the loop: it takes seconds."""
    module = await asyncio.to_thread(_imported)
    if not isinstance(module, _Library):
        raise LlmError("this litellm has no acompletion", codes.INVALID_CONFIG, phase="resolve")
    return module


def _imported() -> object:
    # Else the library fetches its table of models from the network when it is imported.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    module: object = import_module("litellm")
    # It prints advice beside every error otherwise.
    vars(module)["suppress_debug_info"] = True
    return module
