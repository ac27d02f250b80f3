"""What every adapter over HTTP shares: address, headers, credentials, models, and the wire without its network."""

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

import limen
from adapters._toy_wire import DONE, WIRE, ToyCodec, chunks, said
from limen.adapters import BuildContext, CodecWire, Row, RowCodec, WireAdapter, WireOptions
from limen.contract import (
    AbortController,
    Effort,
    Failure,
    GenerateOptions,
    IdSeed,
    Limits,
    LlmError,
    ModelInfo,
    ReplayDrop,
    RetryPolicy,
    StreamChunk,
    Timeouts,
    Wire,
    WireReader,
    WireRequest,
    codes,
    encode,
    scrub,
    tool_result,
    user,
)
from limen.transport import HttpRequest, TransportOptions
from transport._byte_server import CHUNKED, LAST, ByteServer, Connection, chunk, sized
from transport._client import stay

LIMEN = f"limen/{limen.__version__}"
KEY = "sk-toy-0123456789abcdef"


async def answer(connection: Connection) -> None:
    """Answer every request with a small stream."""
    while True:
        await connection.request()
        await connection.send(CHUNKED + chunk(said("a") + DONE) + LAST)


def options(**fields: object) -> GenerateOptions:
    return GenerateOptions(**{"provider": "toy", "model": "m", "messages": [user("hi")], **fields})  # type: ignore[arg-type]


async def collected(adapter: WireAdapter, request: GenerateOptions) -> tuple[list[StreamChunk], LlmError | None]:
    found: list[StreamChunk] = []
    try:
        async for piece in adapter.stream(request):
            found.append(piece)
    except LlmError as failure:
        return found, failure
    finally:
        await adapter.aclose()
    return found, None


async def refused(adapter: WireAdapter, request: GenerateOptions) -> LlmError:
    found, failure = await collected(adapter, request)
    assert found == []
    assert failure is not None
    return failure


def config_fault(settings: WireOptions, codec: ToyCodec | None = None) -> str:
    with pytest.raises(LlmError) as caught:
        WireAdapter(settings, codec or ToyCodec())
    assert (caught.value.code, caught.value.failure.phase) == (codes.INVALID_CONFIG, "resolve")
    return caught.value.failure.message


async def test_a_call_goes_through() -> None:
    """Path below the base URL, the codec's headers and body, key and User-Agent of the adapter (Q2, Q7, K2)."""
    async with ByteServer(answer) as server:
        settings = WireOptions(
            base_url=f"{server.url}/base/v1/", api_key=KEY, app="my-app/1.0", headers={"X-Team": "a"}
        )
        assert await collected(WireAdapter(settings, ToyCodec()), options()) == (chunks("a"), None)
        (received,) = server.requests
    assert received.line == "POST /base/v1/say HTTP/1.1"
    assert received.body == b'{"model":"m"}'
    wanted = {"authorization": f"Bearer {KEY}", "content-type": "application/json", "x-team": "a"}
    wanted["user-agent"] = f"my-app/1.0 {LIMEN}"
    assert {name: received.headers[name] for name in wanted} == wanted


async def test_a_route_that_names_no_key_sends_none() -> None:
    """Without `api_key` nothing that looks like one is sent (K4)."""
    async with ByteServer(answer) as server:
        await collected(WireAdapter(WireOptions(base_url=server.url), ToyCodec()), options())
        (received,) = server.requests
    assert "authorization" not in received.headers
    assert received.headers["user-agent"] == LIMEN


class Source:
    """A credential source that counts how often it is asked."""

    reference = "the vault's drawer 7"

    def __init__(self, *keys: str | None) -> None:
        self.keys = list(keys)

    async def api_key(self) -> str | None:
        """Hand out the next key."""
        await asyncio.sleep(0)
        return self.keys.pop(0)


async def test_the_key_is_asked_for_once_per_call() -> None:
    """A rotated key is used by the next call, trimmed (K2, K3, K7)."""
    async with ByteServer(answer) as server:
        source = Source(f"  {KEY}\n", "sk-toy-rotated-987654321")
        adapter = WireAdapter(WireOptions(base_url=server.url, api_key=source), ToyCodec())
        for _ in range(2):
            await collected(adapter, options())
        sent = [received.headers["authorization"] for received in server.requests]
    assert sent == [f"Bearer {KEY}", "Bearer sk-toy-rotated-987654321"]
    assert source.keys == []


@pytest.mark.parametrize("key", ["sk toy 123456", "sk-töy-123456", "sk-toy\n-123456", "sk-toy\x00-123456"])
async def test_a_key_that_no_header_can_carry(key: str) -> None:
    """INVALID_CREDENTIAL names the reference and no part of the key; nothing is sent (K3)."""
    failure = await refused(
        WireAdapter(WireOptions(base_url="http://127.0.0.1:1", api_key=Source(key)), ToyCodec()), options()
    )
    assert (failure.code, failure.failure.phase) == (codes.INVALID_CREDENTIAL, "resolve")
    assert "the vault's drawer 7" in str(failure)
    assert "123456" not in f"{failure} {failure!r} {failure.__cause__!r}"


@pytest.mark.parametrize(
    ("settings", "codec"),
    [
        (WireOptions(base_url="http://127.0.0.1:1"), ToyCodec(requires_key=True)),
        (WireOptions(base_url="http://127.0.0.1:1", api_key=Source(None)), ToyCodec()),
        (WireOptions(base_url="http://127.0.0.1:1", api_key=Source("  ")), ToyCodec()),
        (WireOptions(base_url="http://127.0.0.1:1", api_key=""), ToyCodec()),
    ],
    ids=["required", "source without one", "blank", "empty"],
)
async def test_a_missing_key_names_every_place_for_it(settings: WireOptions, codec: ToyCodec) -> None:
    """MISSING_CREDENTIAL at the call, not before, with every place a key may be put (K4)."""
    adapter = WireAdapter(settings, codec)
    assert (await adapter.resolve_model("toy", "m")).id == "m"
    failure = await refused(adapter, options())
    assert (failure.code, failure.failure.phase) == (codes.MISSING_CREDENTIAL, "resolve")
    for place in ("TOY_API_KEY", "api_key_env", "api_key_file", "api_key_keyring", "[routes.toy]", "api_key="):
        assert place in str(failure)


async def test_a_missing_key_goes_where_it_is_looked_for() -> None:
    """The remedy is true: a route that names a place never reads the provider's own variable (K4)."""
    settings = WireOptions(base_url="http://127.0.0.1:1", api_key=Source(None))
    failure = await refused(WireAdapter(settings, ToyCodec()), options())
    assert failure.failure.message == (
        "the route toy has no key: the vault's drawer 7 holds none. Put one there, into api_key_env, api_key_file or "
        "api_key_keyring in [routes.toy] of the configuration, into the environment variable TOY_API_KEY if that route "
        "names none of these, or into api_key= of the adapter's options"
    )


async def test_a_route_that_goes_elsewhere_names_no_variable() -> None:
    """A provider's key is not asked for where the route goes to another address than the provider's own (K4)."""
    codec = ToyCodec(requires_key=True, base_url="https://toy.example/v1/")
    failure = await refused(WireAdapter(WireOptions(base_url="http://127.0.0.1:1"), codec), options())
    assert "TOY_API_KEY" not in str(failure)
    for settings in (WireOptions(), WireOptions(base_url="https://toy.example/v1")):
        assert "TOY_API_KEY" in str(await refused(WireAdapter(settings, codec), options()))


async def test_a_provider_without_a_usual_variable() -> None:
    """A row that knows no variable names the other places (K4)."""
    codec = ToyCodec(requires_key=True, key_variables=())
    failure = await refused(WireAdapter(WireOptions(base_url="http://127.0.0.1:1"), codec), options())
    assert "environment" not in str(failure)
    assert "api_key_env" in str(failure)


async def test_a_header_of_the_callers_own_may_carry_the_key() -> None:
    """Where no `api_key` is given, an own Authorization header is the credential, also for a row that needs one."""
    async with ByteServer(answer) as server:
        settings = WireOptions(base_url=server.url, headers={"Authorization": "Token own-secret-1"})
        found, failure = await collected(WireAdapter(settings, ToyCodec(requires_key=True)), options())
        assert (found, failure) == (chunks("a"), None)
        assert server.requests[0].headers["authorization"] == "Token own-secret-1"
    assert "own-secret-1" not in repr(settings)


async def test_headers_never_replace_what_is_ours() -> None:
    """User-Agent stays limen's, and a key that was given stays the credential (Q7)."""
    async with ByteServer(answer) as server:
        headers = {
            "user-agent": "curl/8",
            "AUTHORIZATION": "Bearer their-own-token",
            "Content-Type": "application/x-toy",
        }
        await collected(
            WireAdapter(WireOptions(base_url=server.url, api_key=KEY, headers=headers), ToyCodec()), options()
        )
        received = server.requests[0].headers
    assert (received["user-agent"], received["authorization"]) == (LIMEN, f"Bearer {KEY}")
    assert received["content-type"] == "application/x-toy"


NO_ADDRESSES = """|example.com/v1|ftp://a.example|http://|http://[::1|https://a.example:0|https://a.example:x
|https://u:p@a.example|https://a.example/?k=v|https://a.example/#x|https://a.example/a b|https://bücher.example/"""


@pytest.mark.parametrize("base_url", NO_ADDRESSES.replace("\n", "").split("|"))
def test_a_base_url_that_cannot_be_used(base_url: str) -> None:
    """The address is checked when the adapter is made (INVALID_CONFIG)."""
    assert "base_url" in config_fault(WireOptions(base_url=base_url))


def test_a_row_without_an_address_needs_one() -> None:
    """A dialect that has no address of its own says that base_url must be set, and what it is."""
    assert "set base_url" in config_fault(WireOptions())
    WireAdapter(WireOptions(), ToyCodec(base_url="https://toy.example/v1"))


@pytest.mark.parametrize("base_url", ["http://api.example/v1", "http://10.0.0.7:8000"])
@pytest.mark.parametrize(
    "secret", [{"api_key": KEY}, {"headers": {"authorization": "Bearer x"}}], ids=["key", "header"]
)
def test_a_key_does_not_go_in_the_clear(base_url: str, secret: dict[str, object]) -> None:
    """Plain http to another machine with a key is refused at construction, unless allowed (K6)."""
    assert "allow_plain_http" in config_fault(WireOptions(base_url=base_url, **secret))  # type: ignore[arg-type]
    WireAdapter(WireOptions(base_url=base_url, allow_plain_http=True, **secret), ToyCodec())  # type: ignore[arg-type]
    WireAdapter(WireOptions(base_url=base_url), ToyCodec())


@pytest.mark.parametrize(
    "base_url", ["http://localhost:1", "http://127.0.0.1", "http://[::1]:8", "https://api.example"]
)
def test_a_key_may_stay_on_this_machine(base_url: str) -> None:
    """Loopback and https take a key without further words (K6)."""
    WireAdapter(WireOptions(base_url=base_url, api_key=KEY), ToyCodec())


NO_HEADERS = (("", "x"), ("a b", "x"), ("x-a", "1\r\nx-b: 2"), ("x-a", "ä"), ("x-a", 1), (1, "x"), ("Host", "x"))
RESERVED = (("content-length", "1"), ("Transfer-Encoding", "chunked"), ("accept-encoding", "gzip"))


@pytest.mark.parametrize("headers", [dict([pair]) for pair in (*NO_HEADERS, *RESERVED)])
def test_headers_that_cannot_be_sent(headers: dict[str, str]) -> None:
    """A header that would break the request is refused when the adapter is made, its value not shown."""
    assert "headers:" in config_fault(WireOptions(base_url="https://a.example", headers=headers))


@pytest.mark.parametrize("app", ["", "my app(1)", "a/b/c", "app/1\r\nx: y"])
def test_an_app_that_is_no_product(app: str) -> None:
    """The application's name is a product name (Q7)."""
    assert "app" in config_fault(WireOptions(base_url="https://a.example", app=app))


def test_no_repr_shows_a_secret() -> None:
    """Options show neither key nor header values (E5)."""
    settings = WireOptions(base_url="https://a.example", api_key=KEY, headers={"x-key": "hush"}, app="my-app/1.0")
    shown = repr(settings)
    assert KEY not in shown
    assert "hush" not in shown
    assert shown.startswith("WireOptions(base_url='https://a.example', api_key=…, models=(), headers=…, timeouts=")
    assert "api_key" not in repr(WireOptions())


async def test_a_wrong_history_costs_nothing() -> None:
    """A bare adapter checks the history itself, before key and connection (N1)."""
    adapter = WireAdapter(WireOptions(base_url="http://127.0.0.1:1", api_key=Source()), ToyCodec())
    failure = await refused(adapter, options(messages=[user("hi"), tool_result("nobody", "x")]))
    assert failure.code == codes.INVALID_OPTIONS
    assert "messages[1]" in str(failure)


async def test_what_the_codec_refuses_costs_nothing() -> None:
    """A refusal of the serializer is raised by the first step, before the key is asked for (Q1)."""
    adapter = WireAdapter(WireOptions(base_url="http://127.0.0.1:1", api_key=Source()), ToyCodec())
    assert (await refused(adapter, options(seed=1))).code == codes.UNSUPPORTED


async def test_an_aborted_call_costs_nothing() -> None:
    """A signal that fired before the call: ABORTED, no key is asked for (Q6)."""
    controller = AbortController()
    controller.abort()
    adapter = WireAdapter(WireOptions(base_url="http://127.0.0.1:1", api_key=Source()), ToyCodec())
    failure = await refused(adapter, options(signal=controller.signal))
    assert (failure.code, failure.failure.phase) == (codes.ABORTED, "resolve")


async def test_what_the_reader_gets() -> None:
    """The reader gets limits, content type and a seed that is the encoded history (C9, S2)."""
    async with ByteServer(answer) as server:
        codec = ToyCodec()
        stream = WireAdapter(WireOptions(base_url=server.url, limits=Limits(event_bytes=999)), codec).stream(options())
        await stream.next_batch()
        await stream.aclose()
    (reader,) = codec.readers
    assert reader.content_type == "text/event-stream"
    assert callable(reader.seed)
    assert reader.seed() == encode((user("hi"),))


async def test_replay_state_that_was_not_used_is_reported() -> None:
    """What the serializer did not use stands in the call's facts (R5)."""
    async with ByteServer(answer) as server:
        adapter = WireAdapter(WireOptions(base_url=server.url), ToyCodec())
        stream = adapter.stream(options(purpose="replay"))
        async for _ in stream:
            pass
        await adapter.aclose()
    assert stream.call_facts.replay_dropped == [ReplayDrop("there is none", 0)]


MODELS = (
    ModelInfo("any", "m", "M", context_window=1000, default_max_tokens=64),
    ModelInfo("any", "n", "N", efforts=(), description="small"),
)
HIGH = (Effort("high", "High"),)


async def test_models_are_what_the_options_say() -> None:
    """Facts of one exact model, else the row's defaults; an unlisted model is answered too (R2, R4, R10)."""
    settings = WireOptions(
        base_url="https://a.example", models=MODELS, default_max_tokens=32, retry=RetryPolicy(max_retries=1)
    )
    adapter = WireAdapter(settings, ToyCodec(efforts=HIGH, default_max_tokens=8))
    assert await adapter.resolve_model("r", "m") == ModelInfo(
        "r", "m", "M", context_window=1000, default_max_tokens=64, efforts=HIGH
    )
    assert await adapter.resolve_model("r", "n") == ModelInfo(
        "r", "n", "N", efforts=(), description="small", default_max_tokens=32
    )
    assert await adapter.resolve_model("r", "M") == ModelInfo("r", "M", "M", efforts=HIGH, default_max_tokens=32)
    assert [model.provider for model in await adapter.list_models("r")] == ["r", "r"]
    assert adapter.retry_policy("r") == RetryPolicy(max_retries=1)
    assert adapter.provider_info("r").name == "r"
    bare = WireAdapter(WireOptions(base_url="https://a.example"), ToyCodec(default_max_tokens=8))
    assert await bare.resolve_model("r", "m") == ModelInfo("r", "m", "m", default_max_tokens=8)
    assert bare.retry_policy("r") is None


async def test_the_codec_is_told_the_models_facts() -> None:
    """Building a request knows the configured model and the cap that holds for it (R4)."""
    async with ByteServer(answer) as server:
        codec = ToyCodec()
        settings = WireOptions(base_url=server.url, models=MODELS, default_max_tokens=32)
        adapter = WireAdapter(settings, codec)
        for model in ("m", "other"):
            await collected(adapter, options(model=model))
    assert [(context.model, context.default_max_tokens) for context in codec.contexts] == [(MODELS[0], 64), (None, 32)]


def listing(body: bytes, status: bytes = b"200 OK", announced: int | None = None) -> Callable[[Connection], object]:
    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(sized(body, status=status, announced=announced))
        if announced is None:
            await stay(connection)

    return script


async def listed(script: Callable[[Connection], object], **fields: object) -> Sequence[ModelInfo] | LlmError:
    async with ByteServer(script) as server:  # type: ignore[arg-type]
        settings = WireOptions(base_url=server.url, api_key=KEY, **fields)  # type: ignore[arg-type]
        adapter = WireAdapter(settings, ToyCodec(models_path="/models"))
        try:
            found = await adapter.list_models("r")
        except LlmError as failure:
            return failure
        finally:
            await adapter.aclose()
        (received,) = server.requests
        assert received.line == "GET /models HTTP/1.1"
        assert received.headers["authorization"] == f"Bearer {KEY}"
        assert received.headers["user-agent"] == LIMEN
        assert received.headers["toy-version"] == "1"
        return found


async def test_a_route_without_its_key_lists_what_is_configured() -> None:
    """K4: a route whose key is missing stays browsable; where nothing is configured, it says what is missing."""

    class NoKey:
        reference = "the variable A"

        async def api_key(self) -> str | None:
            return None

    settings = WireOptions(base_url="https://a.example", api_key=NoKey(), models=MODELS)
    adapter = WireAdapter(settings, ToyCodec(models_path="/models"))
    assert [model.id for model in await adapter.list_models("r")] == ["m", "n"]

    bare = WireAdapter(WireOptions(base_url="https://a.example", api_key=NoKey()), ToyCodec(models_path="/models"))
    with pytest.raises(LlmError) as caught:
        await bare.list_models("r")
    assert caught.value.code == codes.MISSING_CREDENTIAL


async def test_a_route_with_a_broken_key_says_so() -> None:
    """K3, K4: a key that cannot be sent is a fault of its own, also for who only looks."""
    settings = WireOptions(base_url="https://a.example", api_key="two words", models=MODELS)
    adapter = WireAdapter(settings, ToyCodec(models_path="/models"))

    with pytest.raises(LlmError) as caught:
        await adapter.list_models("r")

    assert caught.value.code == codes.INVALID_CREDENTIAL


async def test_models_that_the_provider_lists() -> None:
    """The provider's list, with the key, and configured facts laid over it (R10)."""
    assert await listed(listing(b"m\nx"), models=MODELS) == (
        ModelInfo("r", "m", "M", context_window=1000, default_max_tokens=64),
        ModelInfo("r", "x", "X"),
    )


async def test_a_list_of_models_that_is_none() -> None:
    """Refused, cut short, too large or no list: `LlmError` says which (R10)."""
    refused_list = await listed(listing(b"no", status=b"403 Forbidden"))
    assert isinstance(refused_list, LlmError)
    assert refused_list.failure == Failure("403: no", "HTTP_403", phase="headers", status=403)
    page = await listed(listing(b"<html>"))
    assert isinstance(page, LlmError)
    assert page.code == codes.INVALID_CATALOG
    short = await listed(listing(b"m", announced=9))
    assert isinstance(short, LlmError)
    assert short.code == codes.STREAM_CLOSED
    large = await listed(listing(b"m " * 2_200_000))
    assert isinstance(large, LlmError)
    assert large.code == codes.MALFORMED_RESPONSE


def test_a_row_raises_limits_that_nobody_set() -> None:
    """A row's own pace raises defaults; what the caller set stays (T1)."""
    codec = ToyCodec(base_url="https://a.example", min_timeouts=Timeouts(first_event=900, idle_bytes=1, connect=30))
    adapter = WireAdapter(WireOptions(timeouts=Timeouts(connect=2)), codec)
    assert adapter._transport._timeouts == Timeouts(connect=2, first_event=900)
    assert WireAdapter(WireOptions(), codec)._transport._timeouts == Timeouts(connect=30, first_event=900)


async def test_transport_options_reach_the_transport() -> None:
    """A proxy that is not there is felt (K8)."""
    settings = WireOptions(base_url="http://api.invalid", transport=TransportOptions(proxy="http://127.0.0.1:1"))
    failure = await refused(WireAdapter(settings, ToyCodec()), options())
    assert (failure.code, failure.failure.phase) == (codes.TRANSPORT, "connect")
    assert "proxy" in str(failure)


async def test_many_calls_use_their_own_keys() -> None:
    """Two adapters, a hundred calls each at once: every request carries its own key (Q181)."""
    async with ByteServer(answer) as server:
        first = WireAdapter(WireOptions(base_url=f"{server.url}/one", api_key="sk-toy-one-1111111"), ToyCodec())
        second = WireAdapter(WireOptions(base_url=f"{server.url}/two", api_key="sk-toy-two-2222222"), ToyCodec())
        streams = [adapter.stream(options()) for _ in range(100) for adapter in (first, second)]
        batches = await asyncio.gather(*[stream.next_batch() for stream in streams])
        await first.aclose()
        await second.aclose()
        sent = {(received.line.split("/")[1], received.headers["authorization"]) for received in server.requests}
    assert batches == [chunks("a")] * 200
    assert sent == {("one", "Bearer sk-toy-one-1111111"), ("two", "Bearer sk-toy-two-2222222")}


def test_the_wire_without_its_network() -> None:
    """What `build_request` gives is what the adapter sends, with the secret masked (Q1, E5)."""
    wire: Wire = WIRE
    assert (wire.name, tuple(wire.dialects), wire.default_dialect) == ("toy", ("plain", "keyed"), "plain")
    request = wire.request(options(), dialect="keyed")
    assert (request.method, request.path, request.body) == ("POST", "/say", b'{"model":"m"}')
    assert request.headers == {
        "content-type": "application/json",
        "user-agent": LIMEN,
        "accept-encoding": "identity",
        "authorization": "Bearer [redacted]",
    }
    assert wire.reader(content_type="a/b").feed(said("a") + DONE) == chunks("a")
    assert wire.classify(418, {"X-Code": "tea"}, b"pot") == Failure("418: pot", "HTTP_418", provider_code="tea")


async def test_the_wire_sends_what_it_builds() -> None:
    """Every header of a built request is on the wire, byte for byte but for the key (Q1)."""
    built = WIRE.request(options())
    async with ByteServer(answer) as server:
        await collected(WireAdapter(WireOptions(base_url=server.url, api_key=KEY), ToyCodec()), options())
        (received,) = server.requests
    sent = {name: value.replace(KEY, "[redacted]") for name, value in received.headers.items()}
    assert {name: sent.pop(name) for name in built.headers} == dict(built.headers)
    assert set(sent) == {"host", "accept", "content-length"}
    assert received.body == built.body


@pytest.mark.parametrize("ask", ["reader", "request", "classify"])
def test_an_unknown_dialect(ask: str) -> None:
    """A dialect that the wire does not have is UNSUPPORTED, and the message lists those it has."""
    wire: CodecWire = WIRE
    calls: dict[str, Callable[[], object]] = {
        "reader": lambda: wire.reader(dialect="nope"),
        "request": lambda: wire.request(options(), dialect="nope"),
        "classify": lambda: wire.classify(500, {}, b"", dialect="nope"),
    }
    with pytest.raises(LlmError, match=re.escape("it has keyed, plain")) as caught:
        calls[ask]()
    assert caught.value.code == codes.UNSUPPORTED


def test_a_wire_checks_the_history_too() -> None:
    """`build_request` refuses what a call would refuse (N1)."""
    with pytest.raises(LlmError) as caught:
        WIRE.request(options(messages=[tool_result("nobody", "x")]))
    assert caught.value.code == codes.INVALID_OPTIONS


class _Signer:
    """A source of credentials that are no string."""

    reference = "the signer of the test"

    def __init__(self, value: object) -> None:
        self._value = value

    async def credential(self) -> object:
        """Return the credential."""
        return self._value


async def test_a_credential_of_another_type_signs_the_request() -> None:
    """A codec that names a type of credential gets a value of it, and sees the request that it authorizes."""
    seen: list[tuple[str, str, bytes, object]] = []

    class SigningCodec(ToyCodec):
        credential_type: type = tuple

        def authorize(self, request: HttpRequest, credential: object) -> tuple[tuple[str, str], ...]:
            seen.append((request.method, request.url.rpartition("/")[2], request.body, credential))
            return (("Authorization", "signed"),)

    codec = SigningCodec()
    async with ByteServer(answer) as server:
        adapter = WireAdapter(WireOptions(base_url=server.url, api_key=_Signer(("id", "secret"))), codec)
        assert await collected(adapter, options()) == (chunks("a"), None)

    assert seen == [("POST", "say", b'{"model":"m"}', ("id", "secret"))]
    assert (
        CodecWire("toy", {"plain": codec}, default_dialect="plain").request(options()).headers["authorization"]
        == "[redacted]"
    )


@pytest.mark.parametrize(
    ("wanted", "source", "words"),
    [
        (tuple, "sk-toy-123456", r"the credential from the api_key that was passed is a key, and .* takes a tuple"),
        (str, _Signer(7), r"the credential from the signer of the test is a int, and the wire toy takes a str"),
    ],
)
async def test_a_credential_of_the_wrong_type(wanted: type, source: str | _Signer, words: str) -> None:
    """A credential that the wire cannot use is INVALID_CREDENTIAL, named by its place (K3)."""
    adapter = WireAdapter(WireOptions(base_url="http://127.0.0.1:1", api_key=source), ToyCodec(credential_type=wanted))
    failure = await refused(adapter, options())

    assert (failure.code, failure.failure.phase) == (codes.INVALID_CREDENTIAL, "resolve")
    assert re.search(words, failure.failure.message)


def test_an_unknown_name_of_the_package() -> None:
    """A misspelt name is an AttributeError that lists the names there are."""
    import limen.adapters

    with pytest.raises(AttributeError, match="has no attribute 'WireAdaptor'; it has AdapterSpec"):
        _ = limen.adapters.WireAdaptor  # type: ignore[attr-defined]
    assert {"WireAdapter", "kit", "openai_chat"} <= set(dir(limen.adapters))


async def silence(connection: Connection) -> None:
    """Take a request and answer nothing until the client goes."""
    await connection.request()
    await connection.gone()


@pytest.mark.parametrize(
    ("route", "call"),
    [
        (Timeouts(), Timeouts(first_event=0.05)),
        (Timeouts(first_event=0.05), Timeouts(idle_bytes=30)),
        (Timeouts(first_event=0.05), Timeouts()),
        (Timeouts(first_event=30), Timeouts(total=0.05)),
    ],
)
async def test_a_call_ends_by_its_own_limit(route: Timeouts, call: Timeouts) -> None:
    """A call's limits stand in place of the route's, field by field; a default leaves the route's (T1)."""
    async with ByteServer(silence) as server:
        adapter = WireAdapter(WireOptions(base_url=server.url, timeouts=route), ToyCodec())
        failure = await refused(adapter, options(timeouts=call))

    assert failure.code == codes.TIMEOUT


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (WireOptions(secret_headers={"a b": "x"}), "headers: 'a b' is not a header's name"),
        (WireOptions(secret_headers={"Host": "x"}), "headers: Host is set by the transport and cannot be given"),
        (
            WireOptions(secret_headers={"X-A": "x"}, headers={"x-a": "y"}),
            "secret_headers: x-a stands in headers too; keep one of them",
        ),
        (
            WireOptions(secret_headers={"User-Agent": "x"}),
            "secret_headers: user-agent is set by app and holds no credential",
        ),
        (
            WireOptions(secret_headers={"Authorization": "x"}, api_key=KEY),
            "secret_headers: authorization is the header that carries the key; give the key or the header",
        ),
        (WireOptions(query={"": "x"}), "query: '' is a name and a value, both text"),
        (WireOptions(key_header="bearer"), "the wire toy has no row, so key_header and errors have no use"),
    ],
)
def test_secret_headers_and_queries_that_cannot_be(settings: WireOptions, words: str) -> None:
    """Options that no request can carry are `INVALID_CONFIG`, in words that say which (K1)."""
    assert config_fault(replace(settings, base_url="http://127.0.0.1:1")) == words


async def test_a_secret_header_given_in_code() -> None:
    """A text or a source gives the value, asked once per call; the repr of the options shows neither (K1, E5)."""
    source = Source("gate/0123", "gate/4567")
    settings = WireOptions(secret_headers={"X-Gate": source, "X-Other": "other/0123"})
    async with ByteServer(answer) as server:
        adapter = WireAdapter(replace(settings, base_url=server.url), ToyCodec(requires_key=True))
        for _ in range(2):
            await collected(adapter, options())
        sent = [(one.headers["x-gate"], one.headers["x-other"]) for one in server.requests]

    assert sent == [("gate/0123", "other/0123"), ("gate/4567", "other/0123")]
    assert "other/0123" not in repr(settings)


class _PlainRow(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of a wire without a list of models."""


class _PlainCodec(RowCodec[_PlainRow]):
    """The least that a codec of a row adds."""

    def build(self, options: GenerateOptions, context: BuildContext) -> WireRequest:
        """Send nothing."""
        return WireRequest("POST", "/", {}, b"{}")

    def reader(
        self, *, id_seed: IdSeed = b"", limits: Limits | None = None, content_type: str | None = None
    ) -> WireReader:
        """Read as the toy wire does."""
        return ToyCodec().reader(id_seed=id_seed, limits=limits, content_type=content_type)


def test_a_wire_without_a_list_of_models() -> None:
    """A codec made from a row lists no models unless its wire says how."""
    codec = _PlainCodec(_PlainRow(name="plain"))

    assert codec.parse_models("route", b"anything") == ()
    assert codec.request_id({"x-request-id": "r"}) == "r"


def test_a_wire_that_signs_has_no_header_for_a_key() -> None:
    """`key_header` is refused where the credential is no key (K1)."""

    class Signing(_PlainCodec):
        credential_type: type = tuple

    settings = WireOptions(base_url="http://127.0.0.1:1", key_header="bearer")
    with pytest.raises(LlmError, match="the wire  signs its requests, so key_header has no use") as caught:
        WireAdapter(settings, Signing(_PlainRow(name="plain")))
    assert caught.value.code == codes.INVALID_CONFIG


async def test_a_key_in_the_query_is_a_secret() -> None:
    """A value under a key's name goes out in the address and is masked wherever it stands from then on (E5)."""
    secret = "query-secret-0123"
    async with ByteServer(answer) as server:
        settings = WireOptions(base_url=server.url, query={"key": secret})
        assert await collected(WireAdapter(settings, ToyCodec()), options()) == (chunks("a"), None)
        (received,) = server.requests

    assert f"?key={secret} " in received.line
    assert scrub(f"no entry for {received.line}") == "no entry for POST /say?key=[redacted] HTTP/1.1"


@pytest.mark.parametrize("query", [{"a": 1}, {1: "a"}, {"": "a"}])
def test_a_query_that_is_no_text(query: Any) -> None:
    """Names and values of a query are text, and a name is not empty."""
    assert config_fault(WireOptions(base_url="http://127.0.0.1:1", query=query)).endswith(
        "is a name and a value, both text"
    )
