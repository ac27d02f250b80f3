"""The Anthropic adapter over real sockets, against the mock provider's own encoders; and its rows."""

import asyncio

import pytest

from adapters.anthropic._messages_wire import asking, failure_of, started, stopped, text
from limen.adapters import BuildContext
from limen.adapters.anthropic import WIRE, AnthropicAdapter, AnthropicOptions
from limen.adapters.anthropic._adapter import codec_of
from limen.contract import (
    MAX_TOKENS,
    STOP,
    TOOL_CALLS,
    Assembler,
    ChunkGrammar,
    Finish,
    GenerateOptions,
    LlmError,
    ModelInfo,
    Response,
    TokenUsage,
    ToolCallBlock,
    assemble,
    codes,
    tool_result,
    user,
)
from limen.testing.server import MockProvider
from limen.transport import HttpRequest

KEY = "sk-ant-not-a-real-key"
WIRE_NAME = "anthropic-messages"


async def answer(adapter: AnthropicAdapter, options: GenerateOptions) -> Response:
    """One answer, checked by the grammar; what the adapter raises is raised."""
    grammar, assembler = ChunkGrammar(), Assembler()
    stream = adapter.stream(options)
    async for chunk in stream:
        grammar.feed(chunk)
        assembler.feed(chunk)
    grammar.eof()
    arrived = assembler.arrived()
    assert isinstance(arrived.finish, Finish)
    return assemble(arrived, arrived.finish.reason, replay_dropped=stream.call_facts.replay_dropped)


async def ask(specification: str, *messages: object) -> Response:
    """What the adapter makes of a scripted answer."""
    async with MockProvider() as mock:
        adapter = AnthropicAdapter(AnthropicOptions(base_url=mock.base_url(WIRE_NAME, specification), api_key=KEY))
        try:
            return await answer(adapter, asking(*messages))
        finally:
            await adapter.aclose()


async def code_of(specification: str) -> str | None:
    """How a faulty answer ends: the code, raised or in-band."""
    try:
        failure = (await ask(specification)).finish.failure
    except LlmError as error:
        return error.code
    return None if failure is None else failure.code


async def test_conversation_with_thinking_and_tools() -> None:
    """The signed turn of a first answer goes back with its results, and the second answer ends the turn."""
    async with MockProvider("reasoning-tools") as mock:
        adapter = AnthropicAdapter(
            AnthropicOptions(base_url=mock.base_url(WIRE_NAME), api_key=KEY, betas=["a-1", "b-2"])
        )
        first = await answer(adapter, asking(user("What is 20+22?")))
        assert first.message is not None
        second = await answer(adapter, asking(user("What is 20+22?"), first.message, tool_result("call_add_1", "42")))
        await adapter.aclose()

        asked = await mock.request(1)
        again = await mock.request(2)

    assert (first.finish, second.finish) == (TOOL_CALLS, STOP)
    assert first.tool_calls == (ToolCallBlock("call_add_1", "add", '{"left":20,"right":22}'),)
    assert second.text == "The sum is 42."
    assert (asked.method, asked.target) == ("POST", "/v1/messages")
    names = ("x-api-key", "anthropic-version", "anthropic-beta", "content-type", "accept")
    assert [asked.header(name) for name in names] == [
        KEY,
        "2023-06-01",
        "a-1,b-2",
        "application/json",
        "text/event-stream",
    ]
    assert again.at("messages", 1, "content") == [
        {"type": "thinking", "thinking": "I need the add tool.", "signature": "c2lnbmF0dXJl"},
        {"type": "tool_use", "id": "call_add_1", "name": "add", "input": {"left": 20, "right": 22}},
    ]
    assert again.at("messages", 2, "content") == [{"type": "tool_result", "tool_use_id": "call_add_1", "content": "42"}]


@pytest.mark.parametrize(
    ("scenario", "kind", "words"),
    [
        ("text", STOP, "Hello from the mock provider."),
        ("redacted", STOP, "Hello, silently considered."),
        ("interleaved-tools", TOOL_CALLS, ""),
        ("no-arguments", TOOL_CALLS, ""),
        ("max-tokens", MAX_TOKENS, "This answer is cut"),
        ("stop-sequence", STOP, "One, two,"),
        ("unicode", STOP, "Grüße, 世界! 👩‍🚀 \u2028 and \u0085 are no line ends."),
    ],
)
async def test_scripts(scenario: str, kind: object, words: str) -> None:
    """Scripts of the mock provider are understood, streamed and whole alike."""
    streamed = await ask(scenario)
    whole = await ask(f"{scenario}+whole")

    assert (streamed.finish, streamed.text) == (kind, words)
    assert (whole.finish, whole.text, whole.usage) == (kind, words, streamed.usage)


async def test_counts_of_a_cached_prompt() -> None:
    """Counts arrive disjoint."""
    assert (await ask("usage-cached")).usage == TokenUsage(20, 5, 256, 32, 0)


@pytest.mark.parametrize(
    ("specification", "code"),
    [
        ("text+cut", codes.STREAM_CLOSED),
        ("text+no-end-marker", codes.STREAM_CLOSED),
        ("text+nothing", codes.STREAM_CLOSED),
        ("text+keep-alives-only", codes.STREAM_CLOSED),
        ("text+whole-cut", codes.STREAM_CLOSED),
        ("text+error-event", codes.SERVER),
        ("text+overloaded-event", codes.OVERLOADED),
        ("text+error-first", codes.OVERLOADED),
        ("text+malformed-json", codes.MALFORMED_RESPONSE),
        ("text+wrong-shape", codes.MALFORMED_RESPONSE),
        ("text+html", codes.MALFORMED_RESPONSE),
        ("text+plain-text", codes.MALFORMED_RESPONSE),
        ("text+json-other", codes.MALFORMED_RESPONSE),
        ("text+no-finish", None),
        ("text+end-twice", None),
        ("text+finish-twice", None),
        ("text+usage-twice", None),
        ("text+content-after-finish", None),
        ("text+content-after-end", None),
        ("text+unknown-event", None),
        ("text+huge-event", None),
        ("text+keep-alives-between", None),
        ("empty", codes.EMPTY_RESPONSE),
        ("blank", codes.EMPTY_RESPONSE),
        ("refusal", codes.CONTENT_FILTER),
        ("unknown-finish", codes.UNKNOWN_FINISH),
    ],
)
async def test_faults(specification: str, code: str | None) -> None:
    """Each fault of a stream has its one code; what is harmless has none."""
    assert await code_of(specification) == code


@pytest.mark.parametrize(("status", "code"), [(401, codes.AUTH), (429, codes.RATE_LIMIT), (529, codes.OVERLOADED)])
async def test_failed_answers_are_raised(status: int, code: str) -> None:
    """An HTTP failure is raised with the provider's type and its phase (E1)."""
    with pytest.raises(LlmError) as caught:
        await ask(f"text+{status}")

    assert (caught.value.code, caught.value.failure.status, caught.value.failure.phase) == (code, status, "headers")
    assert KEY not in repr(caught.value)


async def serve_models(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request with a list of models, if it names a version of the API."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    body = (
        b'{"data":[{"type":"model","id":"claude-x","display_name":"Claude X","max_input_tokens":200000},{"id":"y"},{}]}'
    )
    status = b"200 OK" if b"anthropic-version: 2023-06-01" in head else b"400 Bad Request"
    assert head.startswith(b"get /v1/models?limit=1000 ")
    writer.write(b"HTTP/1.1 %b\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b" % (status, len(body), body))
    await writer.drain()
    writer.close()


async def test_list_of_models() -> None:
    """The provider's own list, asked for with the headers that it wants."""
    server = await asyncio.start_server(serve_models, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    adapter = AnthropicAdapter(AnthropicOptions(base_url=f"http://{host}:{port}", api_key=KEY))
    async with server:
        models = await adapter.list_models("p")
    await adapter.aclose()

    assert models == (ModelInfo("p", "claude-x", "Claude X", context_window=200000), ModelInfo("p", "y", "y"))


@pytest.mark.parametrize("body", [b"[]", b"<html>", b'{"data":[5]}'])
def test_what_is_no_list_of_models(body: bytes) -> None:
    """Anything else is INVALID_CATALOG."""
    assert failure_of(lambda: WIRE.codec(None).parse_models("p", body)).code == codes.INVALID_CATALOG


def test_no_models_is_an_empty_list() -> None:
    """A list without rows is a list."""
    assert WIRE.codec(None).parse_models("p", b'{"data":null}') == ()


@pytest.mark.parametrize(
    ("dialect", "header"),
    [
        ("anthropic", ("x-api-key", "k")),
        ("azure", ("x-api-key", "k")),
        ("deepseek", ("x-api-key", "k")),
        ("vertex", ("authorization", "Bearer k")),
        ("openrouter", ("authorization", "Bearer k")),
        ("moonshot", ("authorization", "Bearer k")),
    ],
)
def test_how_a_key_travels(dialect: str, header: tuple[str, str]) -> None:
    """Each host has its own header for the key."""
    request = HttpRequest("POST", "/v1/messages", [], b"")

    assert tuple(WIRE.codec(dialect).authorize(request, "k")) == (header,)


def test_rows() -> None:
    """Each row knows where its host serves, whether it wants a key, and where people keep it."""
    rows = {name: (codec.base_url, codec.requires_key, codec.key_variables[:1]) for name, codec in WIRE.codecs.items()}

    assert rows == {
        "anthropic": ("https://api.anthropic.com", True, ("ANTHROPIC_API_KEY",)),
        "bedrock": ("https://bedrock-runtime.{region}.amazonaws.com", True, ()),
        "vertex": (None, True, ()),
        "azure": (None, True, ("ANTHROPIC_FOUNDRY_API_KEY",)),
        "deepseek": ("https://api.deepseek.com/anthropic", True, ("DEEPSEEK_API_KEY",)),
        "moonshot": ("https://api.moonshot.ai/anthropic", True, ("MOONSHOT_API_KEY",)),
        "zai": ("https://api.z.ai/api/anthropic", True, ("ZAI_API_KEY",)),
        "minimax": ("https://api.minimax.io/anthropic", True, ("MINIMAX_API_KEY",)),
        "openrouter": ("https://openrouter.ai/api", True, ("OPENROUTER_API_KEY",)),
        "vercel": ("https://ai-gateway.vercel.sh", True, ("AI_GATEWAY_API_KEY",)),
        "fireworks": ("https://api.fireworks.ai/inference", True, ("FIREWORKS_API_KEY",)),
        "ollama": ("http://localhost:11434", False, ("OLLAMA_API_KEY",)),
        "vllm": ("http://localhost:8000", False, ("VLLM_API_KEY",)),
        "llamacpp": ("http://localhost:8080", False, ("LLAMA_API_KEY",)),
        "generic": (None, False, ()),
    }
    for name, codec in WIRE.codecs.items():
        assert (codec.wire, codec.dialect, codec.min_timeouts) == (WIRE_NAME, name, None)
        assert codec.efforts in (None, ()) or name == "vllm"
    assert WIRE.codec("vertex").models_path is None


def test_version_of_the_api() -> None:
    """The version may be set; one that has removed sampling refuses it before any I/O (Q1)."""
    newest = codec_of(AnthropicOptions(version="2026-10-21"))
    vertex = codec_of(AnthropicOptions(version="2026-10-21", dialect="vertex"))

    cold = failure_of(lambda: newest.build(asking(temperature=0.0), BuildContext()))
    narrow = failure_of(lambda: vertex.build(asking(top_p=1.0), BuildContext()))

    assert (cold.code, narrow.code) == (codes.UNSUPPORTED, codes.UNSUPPORTED)
    removed = "version 2026-10-21 of the API has removed it"
    assert cold.failure.message == f"temperature cannot be sent to p/claude-x (dialect anthropic): {removed}"
    assert narrow.failure.message == f"top_p cannot be sent to p/claude-x (dialect vertex): {removed}"
    assert newest.build(asking(), BuildContext()).headers["anthropic-version"] == "2026-10-21"
    assert b'"anthropic_version":"2026-10-21"' in vertex.build(asking(), BuildContext()).body
    assert (newest.models_headers, vertex.models_headers) == ({"anthropic-version": "2026-10-21"}, {})


def test_unknown_dialect() -> None:
    """A dialect that the wire does not have is UNSUPPORTED."""
    assert failure_of(lambda: AnthropicAdapter(AnthropicOptions(dialect="nope"))).code == codes.UNSUPPORTED
    assert failure_of(lambda: WIRE.reader(dialect="nope")).code == codes.UNSUPPORTED


def test_options_show_no_key() -> None:
    """No repr shows a key (E5)."""
    options = AnthropicOptions(api_key=KEY, version="2023-06-01", betas=["x"])

    assert KEY not in repr(options)


async def test_adapter_without_options() -> None:
    """An adapter needs no options to be made; without a key it says where one may be put (K4)."""
    with pytest.raises(LlmError) as caught:
        await answer(AnthropicAdapter(), asking())

    assert caught.value.code == codes.MISSING_CREDENTIAL
    assert "ANTHROPIC_API_KEY" in caught.value.failure.message


@pytest.mark.parametrize(
    ("dialect", "status", "body", "code"),
    [
        ("zai", 400, b'{"error":{"code":"1113","message":"No."}}', codes.QUOTA),
        ("zai", 429, b'{"error":{"code":"1302","message":"No."}}', codes.RATE_LIMIT),
        ("zai", 429, b'{"error":{"code":"1305","message":"No."}}', codes.OVERLOADED),
        ("zai", 429, b'{"error":{"code":"1308","message":"No."}}', codes.QUOTA),
        ("zai", 400, b'{"error":{"code":"1211","message":"No."}}', codes.MODEL_NOT_FOUND),
        ("zai", 400, b'{"error":{"code":"1301","message":"No."}}', codes.CONTENT_FILTER),
        ("zai", 500, b'{"error":{"code":"1000","message":"No."}}', codes.AUTH),
        ("zai", 500, b'{"error":{"code":"1210","message":"No."}}', codes.INVALID_REQUEST),
        ("zai", 400, b'{"error":{"code":"1234","message":"No."}}', codes.SERVER),
        ("moonshot", 429, b'{"error":{"message":"The engine is currently overloaded"}}', codes.OVERLOADED),
        ("moonshot", 403, b'{"error":{"message":"You reached your usage limit for this billing cycle"}}', codes.QUOTA),
        ("zai", 400, b'{"error":{"code":"1261","message":"Too long"}}', codes.CONTEXT_WINDOW_EXCEEDED),
        (
            "moonshot",
            400,
            b'{"error":{"message":"Your request exceeded model token limit: 9"}}',
            codes.CONTEXT_WINDOW_EXCEEDED,
        ),
        ("generic", 404, b'{"error":{"type":"not_found_error","message":"model: x"}}', codes.MODEL_NOT_FOUND),
        ("generic", 404, b'{"error":{"type":"not_found_error","message":"Not found"}}', "HTTP_404"),
        ("generic", 413, b'{"error":{"type":"request_too_large","message":"Big"}}', codes.INVALID_REQUEST),
        (
            "generic",
            400,
            b'{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}',
            codes.QUOTA,
        ),
        (
            "generic",
            529,
            b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
            codes.OVERLOADED,
        ),
        ("generic", 503, b"", codes.SERVER),
    ],
)
def test_errors_by_row(dialect: str, status: int, body: bytes, code: str) -> None:
    """What a row says of its host's errors comes before what all wires share."""
    assert WIRE.classify(status, {"Content-Type": "application/json"}, body, dialect=dialect).code == code


def test_reader_is_one_per_answer() -> None:
    """Two readers of one row share nothing."""
    first, second = WIRE.reader(), WIRE.reader()

    first.feed(started() + text(0, "a") + stopped("end_turn"))

    assert (first.done, second.done, second.events, second.may_end) == (True, False, 0, False)
