"""The mock provider as a server: routes, choice of script, records, connections, threads."""

import asyncio
import json
import socket
import ssl
import sys
import threading
from urllib.parse import urlsplit

import pytest

from limen.testing.server import (
    MockProvider,
    ReceivedRequest,
    RecordedRequest,
    RequestFacts,
    RequestKind,
    Script,
    Text,
    Turn,
    UnknownScenario,
    decode_script,
    model_names,
    request_facts,
    serve,
)
from limen.testing.server._choice import Choice
from limen.testing.server._connection import Connection
from limen.testing.server._respond import Responder
from limen.testing.wires import WIRES, WireDescription
from limen.testing.wires.openai_chat import OpenAIChatMock
from testing._raw_client import CHAT, MESSAGES, PATHS, ask, chat_body, read_all, request_bytes

FAST = 5.0


def said(text: str) -> Script:
    return Script([Turn([Text([text])])])


def texts(raw_payloads: list[dict[str, object]]) -> str:
    found = json.dumps(raw_payloads)
    return "".join(
        choice["delta"].get("content") or ""
        for payload in json.loads(found)
        for choice in payload.get("choices", [])
        if "delta" in choice
    )


async def text_of(mock: MockProvider, body: dict[str, object] | None = None, specification: str | None = None) -> str:
    url = mock.base_url(CHAT, specification) + PATHS[CHAT]
    return texts((await ask("POST", url, body or chat_body())).payloads)


async def test_one_script_answers_every_request() -> None:
    """A server that was given one script answers with it each time."""
    async with MockProvider(said("again")) as mock:
        assert [await text_of(mock) for _ in range(3)] == ["again"] * 3


async def test_a_list_answers_one_request_each() -> None:
    """A list is a queue, and its last entry stays."""
    async with MockProvider([said("one"), "text+cut", said("last")]) as mock:
        answers = [await text_of(mock) for _ in range(4)]

    assert answers == ["one", "Hello from", "last", "last"]


async def test_a_function_chooses_by_the_request() -> None:
    """A function gets the recorded request and returns a script or a specification."""

    def choose(request: RecordedRequest) -> Script | str:
        return said("you asked: " + str(request.at("messages", 0, "content")))

    async with MockProvider(choose) as mock:
        assert await text_of(mock) == "you asked: What is 20 + 22?"


async def test_the_model_chooses() -> None:
    """`mock-<specification>` as the model goes before what the server was given."""
    async with MockProvider(said("given")) as mock:
        answers = [
            await text_of(mock, chat_body(model)) for model in ("mock-refusal", "mock-text+cut", "mock-nonsense")
        ]

    assert answers == ["", "Hello from", "given"]


async def test_the_path_chooses_first() -> None:
    """`base_url(wire, specification)` goes before the model's name."""
    async with MockProvider() as mock:
        assert await text_of(mock, chat_body("mock-tools"), "text+cut") == "Hello from"


async def test_a_model_that_names_no_scenario_is_not_found() -> None:
    """Where nothing else was given, an unknown `mock-…` is a 404 that lists what there is."""
    async with MockProvider() as mock:
        raw = await ask("POST", mock.base_url(CHAT) + PATHS[CHAT], chat_body("mock-nonsense"))

    error = json.loads(raw.body)["error"]
    assert (raw.status, error["code"]) == (404, "model_not_found")
    assert "parallel-tools" in error["message"]


async def test_faults_of_the_server_are_added() -> None:
    """`faults=` spoil whatever is chosen."""
    async with MockProvider(said("a b"), faults=["429"]) as mock:
        raw = await ask("POST", mock.base_url(CHAT) + PATHS[CHAT], chat_body("mock-tools"))

    assert (raw.status, raw.headers["retry-after"]) == (429, "2")


async def test_use_replaces_what_is_answered() -> None:
    """`use` takes effect with the next request."""
    async with MockProvider("text") as mock:
        before = await text_of(mock)
        mock.use(said("after"), "crlf")

        assert (before, await text_of(mock)) == ("Hello from the mock provider.", "after")


@pytest.mark.parametrize("bad", ["nonsense", "text+nonsense"])
def test_an_unknown_specification_is_refused_at_once(bad: str) -> None:
    """A wrong name fails where it was written, not in the answer."""
    with pytest.raises(UnknownScenario, match="nonsense"):
        MockProvider(bad)
    with pytest.raises(ValueError, match="nonsense"):
        MockProvider(faults=["nonsense"])


async def test_base_url_of_an_unknown_wire() -> None:
    """A wire that nobody speaks is named, with those that are spoken."""
    with pytest.raises(ValueError, match="anthropic-messages, bedrock-converse, openai-chat, not 'telegraph'"):
        MockProvider().base_url("telegraph")


async def test_models_are_listed_for_both_wires() -> None:
    """`GET …/models` lists the scenarios, in the form of the client's wire."""
    async with MockProvider() as mock:
        raw = await ask("GET", mock.base_url(CHAT) + "/models")
        reader, writer = await asyncio.open_connection(*split(mock.url))
        head = request_bytes("GET", mock.url + "/v1/models").replace(
            b"connection:", b"anthropic-version: 1\r\nconnection:"
        )
        writer.write(head)
        other = await read_all(reader)
        writer.close()

    assert [model["id"] for model in json.loads(raw.body)["data"]] == model_names()
    assert [model["type"] for model in json.loads(other.body)["data"]] == ["model"] * len(model_names())


def split(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return str(parts.hostname), int(parts.port or 0)


async def test_other_paths_say_what_there_is() -> None:
    """A path that is no wire's answers 404 and names those that are."""
    async with MockProvider() as mock:
        raw = await ask("POST", mock.url + "/v2/nothing", {})

    assert raw.status == 404
    assert b"/chat/completions" in raw.body


async def test_requests_are_recorded() -> None:
    """A request is kept with method, path, headers, raw body and JSON, and with the wire that read it."""
    async with MockProvider() as mock:
        await ask("POST", mock.url + "/v1/messages?beta=true", chat_body("m"))
        (request,) = mock.requests

    assert (request.method, request.path, request.target) == ("POST", "/v1/messages", "/v1/messages?beta=true")
    assert (request.wire, request.header("Connection"), request.header("missing")) == (MESSAGES, "close", None)
    assert (request.at("messages", 0, "role"), request.at("messages", 7), request.at("model", "x")) == (
        "user",
        None,
        None,
    )
    assert json.loads(request.body) == request.json == chat_body("m")
    assert repr(request).startswith("<RecordedRequest POST /v1/messages")


async def test_a_body_that_is_no_json_is_recorded() -> None:
    """What is no JSON object has an empty `json`, and is answered all the same."""
    async with MockProvider(said("fine")) as mock:
        raw = await ask("POST", mock.url + PATHS[MESSAGES], "not an object")

        assert (raw.status, mock.requests[0].json) == (200, {})


async def test_one_connection_serves_many_requests() -> None:
    """Connections are kept alive, and a request that came early is answered in its turn."""
    async with MockProvider(said("kept")) as mock:
        url = mock.base_url(CHAT) + PATHS[CHAT]
        one = request_bytes("POST", url, chat_body(stream=False)).replace(b"connection: close\r\n", b"")
        reader, writer = await asyncio.open_connection(*split(url))
        writer.write(one + request_bytes("POST", url, chat_body(stream=False)))
        raw = await read_all(reader)
        writer.close()

    assert raw.received.count(b'"content":"kept"') == 2
    assert len(mock.requests) == 2
    assert mock.requests[0].connection == mock.requests[1].connection


async def test_what_is_no_http_gets_400() -> None:
    """Bytes that are no request end the connection with a plain answer."""
    async with MockProvider() as mock:
        reader, writer = await asyncio.open_connection(*split(mock.url))
        writer.write(b"\x16\x03\x01 this is a TLS greeting\r\n\r\n")
        raw = await read_all(reader)
        writer.close()

    assert (raw.status, mock.requests) == (400, [])


async def test_the_clients_leaving_is_seen_in_silence() -> None:
    """`closed` happens when the client goes, also while the server has nothing to say."""
    async with MockProvider("text+stall-mid-stream") as mock:
        reader, writer = await asyncio.open_connection(*split(mock.url))
        writer.write(request_bytes("POST", mock.base_url(CHAT) + PATHS[CHAT], chat_body()))
        request = await mock.request()
        await request.stalled.wait(FAST)
        assert b"from" in await reader.read(65536)
        assert not request.closed
        writer.close()
        await request.closed.wait(FAST)

        assert (request.closed_early, bool(request.finished)) == (True, False)
        times = [request.arrived.at, request.stalled.at, request.closed.at]
        assert None not in times
        assert times == sorted(times, key=lambda time: time or 0)


async def test_release_ends_a_silence() -> None:
    """After `release()` the answer goes on to its end."""
    async with MockProvider("text+stall-mid-stream") as mock:
        answer = asyncio.create_task(text_of(mock))
        request = await mock.request()
        await request.stalled.wait(FAST)
        request.release()

        assert await answer == "Hello from the mock provider."
        await request.finished.wait(FAST)


async def test_closing_the_server_ends_what_is_open() -> None:
    """Leaving the context closes connections that are still silent."""
    async with MockProvider("text+stall-before-headers") as mock:
        answer = asyncio.create_task(ask("POST", mock.base_url(CHAT) + PATHS[CHAT], chat_body()))
        await (await mock.request()).stalled.wait(FAST)

    assert (await answer).received == b""


def test_a_thread_of_its_own() -> None:
    """`with` runs the server in a thread, and its occasions are waited for without a loop."""
    with MockProvider("text+stall-mid-stream") as mock:

        async def client() -> str:
            answer = asyncio.create_task(text_of(mock))
            request = await mock.request()
            await request.stalled.wait(FAST)
            request.release()
            return await answer

        assert asyncio.run(client()) == "Hello from the mock provider."
        mock.request_blocking().finished.wait_blocking(FAST)
        with pytest.raises(TimeoutError):
            mock.request_blocking(2, timeout=0.01)


async def test_refused_holds_a_port_where_nobody_listens() -> None:
    """`listen="refuse"` gives a port that refuses connections and stays reserved."""
    async with MockProvider(listen="refuse") as mock:
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*split(mock.url))


async def test_tls_with_a_certificate_that_nobody_trusts() -> None:
    """`listen="tls"` completes a handshake only with a client that does not verify."""
    async with MockProvider(said("secret"), listen="tls") as mock:
        host, port = split(mock.url)
        assert mock.url.startswith("https://")
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.open_connection(host, port, ssl=ssl.create_default_context())
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusting.check_hostname = False
        trusting.verify_mode = ssl.CERT_NONE
        reader, writer = await asyncio.open_connection(host, port, ssl=trusting)
        writer.write(request_bytes("POST", mock.base_url(CHAT) + PATHS[CHAT], chat_body()))
        raw = await read_all(reader)
        writer.close()

    assert texts(raw.payloads) == "secret"


async def test_plain_http_where_tls_is_expected() -> None:
    """`listen="plain-on-tls"` answers a TLS greeting with plain text."""
    async with MockProvider(listen="plain-on-tls") as mock:
        assert mock.url.startswith("https://")
        with pytest.raises(ssl.SSLError):
            await asyncio.open_connection(*split(mock.url), ssl=ssl.create_default_context())


async def test_redirects_point_elsewhere() -> None:
    """The other origin records whoever follows a redirect."""
    async with MockProvider("text+redirect") as mock:
        raw = await ask("POST", mock.base_url(CHAT) + PATHS[CHAT], chat_body())
        assert (raw.status, mock.strays) == (307, [])
        followed = await ask("POST", raw.headers["location"], {})

        assert (followed.status, len(mock.strays), len(mock.requests)) == (200, 1, 1)


async def test_serve_tells_its_address() -> None:
    """`serve` calls back with the running provider and serves until it is cancelled."""
    ready: asyncio.Future[MockProvider] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve("text", ready=ready.set_result))
    mock = await ready

    assert await text_of(mock) == "Hello from the mock provider."
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(*split(mock.url))


async def test_serve_without_a_callback() -> None:
    """`serve` needs nobody to call back."""
    serving = asyncio.create_task(serve("text"))
    for _ in range(50):
        await asyncio.sleep(0)
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving


def test_scripts_are_read_from_json() -> None:
    """A script, or a list of scripts, has a JSON form."""
    text = '{"turns":[{"parts":[{"type":"text","text":["a","b"]}],"usageAt":"attached"}],"faults":["cut"],"delayMs":5}'
    expected = Script([Turn([Text(["a", "b"])], usage_at="attached")], delay_ms=5, faults=["cut"])

    assert decode_script(text) == expected
    assert decode_script(f"[{text}]".encode()) == [expected]


@pytest.mark.parametrize(
    "bad", ["{}", '{"turns":[]}', '{"turns":[{"parts":[{"type":"song"}]}]}', '{"turn":[]}', "nonsense"]
)
def test_what_is_no_script_is_refused(bad: str) -> None:
    """Anything else is a `ValueError` that says where."""
    with pytest.raises(ValueError, match=r"turn|song|script"):
        decode_script(bad)


def test_a_conversation_goes_through_the_turns() -> None:
    """As many turns are skipped as the history has assistant messages, and after the last it begins again."""
    script = Script([Turn([Text("one")]), Turn([Text("two")])])

    assert [script.turn(count) for count in range(4)] == [*script.turns, *script.turns]


class OtherTransport:
    """A stream transport of another loop, uvloop's for one: the right methods, and no subclass of asyncio's."""

    def __init__(self) -> None:
        self.written = b""
        self.options: list[tuple[int, int]] = []
        self.ended = asyncio.Event()

    def write(self, data: bytes) -> None:
        self.written += data
        if self.written.endswith(b"0\r\n\r\n"):
            self.ended.set()

    def close(self) -> None:
        self.ended.set()

    def abort(self) -> None:
        self.ended.set()

    def is_closing(self) -> bool:
        return False

    def get_extra_info(self, name: str) -> object:
        return self if name == "socket" else None

    def set_write_buffer_limits(self, high: int | None = None) -> None:
        self.high = high

    def setsockopt(self, level: int, option: int, value: bytes) -> None:
        self.options.append((level, option))


@pytest.mark.parametrize(("fault", "options"), [("bom", []), ("reset-at-end", [(socket.SOL_SOCKET, socket.SO_LINGER)])])
async def test_transports_of_other_loops(fault: str, options: list[tuple[int, int]]) -> None:
    """A connection asks of its transport nothing but its methods, so it serves under uvloop too, resets included."""
    responder = Responder([WIRES[CHAT].mock], Choice("text", [fault]))
    transport = OtherTransport()
    connection = Connection(responder.answer, set())
    connection.connection_made(transport)  # type: ignore[arg-type] # what another loop hands over
    connection.data_received(request_bytes("POST", f"http://x{PATHS[CHAT]}", chat_body()))
    await asyncio.wait_for(transport.ended.wait(), FAST)
    await connection.aclose()

    assert (b"[DONE]" in transport.written, transport.options) == (True, options)


def test_under_uvloop() -> None:
    """The mock provider serves, and resets, on uvloop's transports."""
    uvloop = pytest.importorskip("uvloop")

    async def ended(specification: str) -> str:
        async with MockProvider(specification) as mock:
            return (await ask("POST", mock.base_url(CHAT) + PATHS[CHAT], chat_body())).ended

    assert [uvloop.run(ended(one)) for one in ("text", "text+reset-mid-stream")] == ["eof", "reset"]


class PathWire(OpenAIChatMock):
    """A wire that has model and streaming in its path, as Gemini's and Bedrock's have."""

    name = "path-wire"
    base_path = "/v1beta"
    path = ":streamGenerate"

    def recognizes(self, request: ReceivedRequest) -> RequestKind | None:
        last = request.path.rpartition("/")[2]
        return "call" if request.method == "PUT" and last.endswith((":generate", ":streamGenerate")) else None

    def read_request(self, request: ReceivedRequest) -> RequestFacts:
        model, _, action = request.path.rpartition("/")[2].partition(":")
        return request_facts(request.json)._replace(model=model, stream=action.startswith("stream"))


async def test_a_wire_may_decide_by_method_and_path() -> None:
    """A described wire of somebody else's is asked first, and sees method and path beside the body."""
    wire = WireDescription(mock=PathWire())
    async with MockProvider(wires=[wire]) as mock:
        url = mock.base_url("path-wire")
        streamed = await ask("PUT", f"{url}/mock-refusal:streamGenerate", {})
        whole = await ask("PUT", f"{url}/mock-text:generate", {})
        other = await ask("POST", f"{url}/mock-text:generate", {})
        wires = [request.wire for request in mock.requests]

    assert (len(streamed.payloads), json.loads(whole.body)["model"]) == (7, "mock-text")
    assert (other.status, wires) == (404, ["path-wire", "path-wire", None])
    assert "…:streamGenerate, …/v1/messages, …/converse-stream, …/chat/completions".encode() in other.body


async def test_a_server_in_a_thread_that_cannot_start() -> None:
    """Where the port cannot be had, no thread is left behind."""
    with MockProvider() as first, pytest.raises(OSError), MockProvider(port=split(first.url)[1]):  # noqa: PT011
        pass

    assert sum(thread.name == "limen-mock" for thread in threading.enumerate()) == 0


def test_a_start_without_h11_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without h11 the start says which extra brings it (finding K5)."""
    monkeypatch.setitem(sys.modules, "h11", None)
    monkeypatch.delitem(sys.modules, "limen.testing.server._connection", raising=False)

    with pytest.raises(ModuleNotFoundError, match=r"the mock provider needs h11: pip install 'limen\[mock\]'"):
        MockProvider().__enter__()


def test_leaving_a_provider_that_was_never_entered() -> None:
    """Leaving is harmless where nothing was started."""
    MockProvider().__exit__(None, None, None)
