"""The adapter of any wire over HTTP: a codec, with credential, address, connection and models around it.

It reads neither environment nor files (K7).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from limen.adapters._codec import AsksDetails, Codec, Locates, WireOptions, carries_key_only
from limen.adapters._endpoint import Endpoint, own_codec
from limen.adapters._pump import WireCall, WireStream, completed
from limen.adapters.kit import BuildContext, build
from limen.contract import (
    AbortSignal,
    AdapterCall,
    CredentialSource,
    Failure,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    ModelInfo,
    ReplayDrop,
    RetryPolicy,
    Secret,
    StaticCredential,
    Timeouts,
    ValueSource,
    WireReader,
    WireRequest,
    check_request,
    clean_header,
    clean_key,
    codes,
    encode,
    http_code,
    remember_secret,
    scrub,
)
from limen.transport import HttpAnswer, HttpRequest, Transport

# A list of models is a few hundred kilobytes at most (OpenRouter's, 2026-11: 0.6 MB).
_CATALOG_BYTES: Final = 4 * 1024 * 1024
# Requests for the facts of single models that are open at once.
_DETAILS_AT_ONCE: Final = 8
# Models whose facts are kept made; a process that asks for more of them makes some again.
_RESOLVED_MAX: Final = 256


class WireAdapter(LlmAdapter):
    """An adapter made of a codec: credential, address, transport and pump are the same for every wire.

    Options are read once, here (K2); wrong ones are `INVALID_CONFIG`. One attempt per call (Q5). The transport is
    shared by all calls and opens no connection before the first.
    """

    def __init__(self, options: WireOptions, codec: Codec) -> None:
        codec = own_codec(codec, options)
        self._codec = codec
        self._endpoint = Endpoint(options, codec)
        self._secret_headers = {name: _static(value) for name, value in options.secret_headers.items()}
        self._models = {model.id: model for model in options.models}
        self._default_max_tokens = options.default_max_tokens
        self._limits = options.limits
        self._retry = options.retry
        self._source = _source(options.api_key)
        # A key that was given in code does not change: it is checked once, and so are the headers that carry it.
        self._key: Secret | None = None
        self._key_headers: dict[str, str] | None = None
        self._resolved: dict[tuple[str, str], ModelInfo] = {}
        self._timeouts = _raised(options.timeouts, codec.min_timeouts)
        self._transport = Transport(options.transport, self._timeouts, options.limits)

    def stream(self, options: GenerateOptions) -> WireStream:
        """Return the stream of one call; what is wrong with the request is raised by its first step.

        Checks the history (N1), asks the credential source once (K2) and sends one request.
        """
        seed = _Seed(options)
        fault = _fault(options)
        asked: list[str] = []

        async def begin(dropped: list[ReplayDrop]) -> HttpAnswer:
            if fault is not None:
                raise fault
            request = await self._request(options, dropped)
            asked.append(request.url)
            return await self._open(request, options)

        def reader(content_type: str | None) -> WireReader:
            return self._codec.reader(id_seed=seed, limits=self._limits, content_type=content_type)

        def classify(status: int, headers: Mapping[str, str], body: bytes) -> Failure:
            return self._with_source(_with_address(self._codec.classify(status, headers, body), asked[0]))

        request_id = self._codec.request_id
        return WireStream(WireCall(begin, reader, classify, time.time, options.signal, request_id=request_id))

    def retry_policy(self, provider: str) -> RetryPolicy | None:
        """Return the policy of the options."""
        return self._retry

    async def list_models(self, provider: str) -> Sequence[ModelInfo]:
        """Return the provider's own list where it has one, else the configured models (R10).

        Facts that are configured for a model are laid over what the provider says of it. A route whose key is missing
        is browsable all the same (K4): it lists what is configured, if anything is. Raises `LlmError` as a call would,
        and `INVALID_CATALOG` for an answer that is no list of models.
        """
        configured = tuple(replace(model, provider=provider) for model in self._models.values())
        path = self._codec.models_path
        if path is None:
            return configured
        try:
            credential = await self._credential(provider)
        except LlmError as missing:
            if missing.code != codes.MISSING_CREDENTIAL or not configured:
                raise
            return configured
        secrets = await self._secrets(provider)

        async def ask(request: WireRequest) -> bytes:
            return await self._answered(self._outgoing(request, credential, secrets))

        body = await ask(WireRequest("GET", path, self._codec.models_headers, b""))
        listed: Sequence[ModelInfo] = self._codec.parse_models(provider, body)
        if isinstance(self._codec, AsksDetails):
            listed = await _detailed(self._codec, listed, ask)
        return tuple(self._laid_over(model) for model in listed)

    async def _answered(self, request: HttpRequest) -> bytes:
        """Return the body of an answer that is no stream; raises `LlmError` for a failed one."""
        answer = await self._transport.open(request)
        body = await answer.whole_body(_CATALOG_BYTES) if 200 <= answer.status < 300 else await answer.error_body()
        if not 200 <= answer.status < 300:
            failure = _with_address(self._codec.classify(answer.status, answer.headers, body), request.url)
            failure = self._with_source(failure)
            raise LlmError.of(completed(failure, answer, time.time(), self._codec.request_id))
        return body

    async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
        """Return what is configured for one exact model, with the dialect row's defaults; no I/O (R10)."""
        resolved = self._resolved.get((provider, model))
        if resolved is None:
            known = self._models.get(model)
            found = ModelInfo(provider, model, model) if known is None else replace(known, provider=provider)
            efforts = self._codec.efforts if found.efforts is None else found.efforts
            resolved = replace(found, default_max_tokens=self._max_tokens(found), efforts=efforts)
            if len(self._resolved) >= _RESOLVED_MAX:
                self._resolved.clear()
            self._resolved[provider, model] = resolved
        return resolved

    async def prepare_call(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> AdapterCall:
        """Bind the facts of one model and this adapter's `stream` (R3)."""
        return AdapterCall(await self.resolve_model(provider, model, signal=signal), self.stream)

    async def aclose(self) -> None:
        """Close the adapter's connections of the running loop. Idempotent."""
        await self._transport.aclose()

    async def _request(self, options: GenerateOptions, dropped: list[ReplayDrop]) -> HttpRequest:
        model = self._models.get(options.model)
        context = BuildContext(model, self._max_tokens(model))
        written = build(self._codec, options, context)
        dropped += context.replay_dropped
        signal = options.signal
        if signal is not None and signal.aborted:
            raise LlmError("the call was aborted before it was sent", codes.ABORTED, phase="resolve")
        credential = await self._credential(options.provider)
        return self._outgoing(written, credential, await self._secrets(options.provider))

    def _outgoing(self, written: WireRequest, credential: object, secrets: Mapping[str, str]) -> HttpRequest:
        """Return a request as it is sent: the codec's headers, the caller's over them, then ours and the credentials.

        `secrets` are the values of the options' `secret_headers`. What carries a credential is a `Secret`.
        """
        endpoint = self._endpoint
        merged = {name.lower(): value for name, value in written.headers.items()}
        merged.update(endpoint.headers)
        merged.update((name.lower(), Secret(value)) for name, value in secrets.items())
        merged["user-agent"] = endpoint.user_agent
        codec = self._codec
        base_url = endpoint.base_url
        if isinstance(codec, Locates):
            base_url = codec.address(base_url, written, credential)
        url = f"{base_url}/{written.path.lstrip('/')}"
        if endpoint.query:
            url += f"{'&' if '?' in url else '?'}{endpoint.query}"
        if credential is not None:
            merged.update(
                self._authorized(HttpRequest(written.method, url, list(merged.items()), written.body), credential)
            )
        return HttpRequest(written.method, url, list(merged.items()), written.body)

    def _authorized(self, unsigned: HttpRequest, credential: object) -> dict[str, str]:
        """Return the headers that carry the credential; those of a key given in code are made once."""
        if self._key_headers is not None:
            return self._key_headers
        signed = self._codec.authorize(unsigned, credential)
        headers: dict[str, str] = {name.lower(): Secret(value) for name, value in signed}
        if self._key is not None and carries_key_only(self._codec):
            # A row's header holds the key and nothing of the request.
            self._key_headers = headers
        return headers

    async def _open(self, request: HttpRequest, options: GenerateOptions) -> HttpAnswer:
        own = options.timeouts
        timeouts = self._timeouts if own is None else _laid_over_each(self._timeouts, own)
        return await self._transport.open(request, signal=options.signal, timeouts=timeouts)

    async def _secrets(self, provider: str) -> dict[str, str]:
        """Return the headers that carry another credential than the key, each source asked once (K1, K2)."""
        found: dict[str, str] = {}
        for name, source in self._secret_headers.items():
            value = _hidden(await source.api_key())
            if value is None:
                raise LlmError(
                    f"the route {provider} has no value for the header {name}: {source.reference} holds none. Put one "
                    "there",
                    codes.MISSING_CREDENTIAL,
                    phase="resolve",
                )
            found[name] = clean_header(value, source.reference)
        return found

    async def _credential(self, provider: str) -> object:
        """Return the credential to send, `None` where the route sends none (K3, K4)."""
        if self._key is not None:
            return self._key
        source = self._source
        if source is None:
            if self._codec.requires_key and not self._endpoint.brings_auth:
                raise self._missing(provider, "no place is named for one")
            return None
        wanted = self._codec.credential_type
        if isinstance(source, ValueSource):
            value = await source.credential()
            if isinstance(value, wanted):
                return value
            raise self._unfit(source.reference, f"a {type(value).__name__}")
        if wanted is not str:
            raise self._unfit(source.reference, "a key")
        key = _hidden(await source.api_key())
        if key is not None:
            clean = clean_key(key, source.reference)
            if isinstance(source, StaticCredential):
                remember_secret(clean, keep=True)
                self._key = clean
            return clean
        raise self._missing(provider, f"{source.reference} holds none", "there")

    def _with_source(self, failure: Failure) -> Failure:
        """Name the source of a credential that was refused, where a source chose it among several."""
        if failure.code != codes.AUTH or not isinstance(self._source, ValueSource):
            return failure
        return replace(failure, message=f"{failure.message} (sent with {self._source.reference})")

    def _unfit(self, reference: str, found: str) -> LlmError:
        wanted = self._codec.credential_type.__name__
        return LlmError(
            f"the credential from {reference} is {found}, and the wire {self._codec.wire} takes a {wanted}",
            codes.INVALID_CREDENTIAL,
            phase="resolve",
        )

    def _missing(self, provider: str, why: str, *places: str) -> LlmError:
        # A provider's own variable is read for a route that names no key, and never where it goes to another address.
        variables = "" if self._endpoint.elsewhere else " or ".join(self._codec.key_variables)
        every = [
            *places,
            f"into api_key_env, api_key_file or api_key_keyring in [routes.{provider}] of the configuration",
            *([f"into the environment variable {variables} if that route names none of these"] if variables else []),
            "into api_key= of the adapter's options",
        ]
        return LlmError(
            f"the route {provider} has no key: {why}. Put one {', '.join(every[:-1])}, or {every[-1]}",
            codes.MISSING_CREDENTIAL,
            phase="resolve",
        )

    def _max_tokens(self, model: ModelInfo | None) -> int | None:
        if model is not None and model.default_max_tokens is not None:
            return model.default_max_tokens
        return self._codec.default_max_tokens if self._default_max_tokens is None else self._default_max_tokens

    def _laid_over(self, listed: ModelInfo) -> ModelInfo:
        known = self._models.get(listed.id)
        if known is None:
            return listed
        facts = ("description", "input_modalities", "context_window", "default_max_tokens", "efforts", "default_effort")
        said = {name: getattr(known, name) for name in facts if getattr(known, name) is not None}
        return replace(listed, name=known.name, **said)


class _Seed:
    """The seed of made ids (C9): the encoded history, encoded only where an id must be made."""

    __slots__ = ("_options",)

    def __init__(self, options: GenerateOptions) -> None:
        self._options = options

    def __call__(self) -> bytes:
        return encode(self._options.messages)


async def _detailed(
    codec: AsksDetails, listed: Sequence[ModelInfo], ask: Callable[[WireRequest], Awaitable[bytes]]
) -> list[ModelInfo]:
    """Return listed models with the facts that each is asked for; one that cannot be asked stays as it is listed."""
    free = asyncio.Semaphore(_DETAILS_AT_ONCE)

    async def told(model: ModelInfo) -> ModelInfo | None:
        async with free:
            try:
                body = await ask(codec.details_request(model))
            except LlmError:
                return model
        return codec.parse_details(model, body)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(told(model)) for model in listed]
    return [found for task in tasks if (found := task.result()) is not None]


def _fault(options: GenerateOptions) -> LlmError | None:
    """Check a request while `stream()` is called, so that a caller who has checked it need not pay twice."""
    try:
        check_request(options)
    except LlmError as fault:
        return fault
    return None


def _with_address(failure: Failure, url: str) -> Failure:
    """Name the address that was asked where nothing is there: what is wrong is most often the base URL."""
    if failure.code != http_code(404):
        return failure
    return replace(failure, message=f"{failure.message} (asked: {scrub(url)})")


def _static(value: str | CredentialSource) -> CredentialSource:
    return StaticCredential(value) if isinstance(value, str) else value


def _hidden(key: str | None) -> Secret | None:
    """Return a source's answer in a type that no traceback shows (E5); blank counts as none."""
    return Secret(key) if key is not None and key.strip() else None


def _source(api_key: str | CredentialSource | ValueSource | None) -> CredentialSource | ValueSource | None:
    return StaticCredential(api_key) if isinstance(api_key, str) else api_key


def _laid_over_each(route: Timeouts, call: Timeouts) -> Timeouts:
    """Return a route's limits with those of a call in their place, field by field; a default leaves the route's."""
    default = Timeouts()
    given = {name: getattr(call, name) for name in Timeouts.__struct_fields__}
    return replace(route, **{name: value for name, value in given.items() if value != getattr(default, name)})


def _raised(given: Timeouts, least: Timeouts | None) -> Timeouts:
    """Raise the limits that nobody set to the row's own (T1)."""
    if least is None:
        return given
    default = Timeouts()
    changes = {
        name: max(getattr(given, name), getattr(least, name))
        for name in ("connect", "first_event", "idle_bytes", "idle_event")
        if getattr(given, name) == getattr(default, name)
    }
    return replace(given, **changes)
