"""The Gemini adapter over real sockets, against the mock provider's own encoder; its rows, models and errors."""

import json
from functools import partial

import pytest

import limen
from adapters.gemini._generate_wire import COUNTS, MODERN, asking, call, chunk, failure_of, read, stopped, text
from limen._compose import known_providers
from limen.adapters.gemini import WIRE, GeminiAdapter, GeminiOptions, GoogleCredentials
from limen.adapters.gemini._adapter import codec_of
from limen.config._environment import routes_from  # the seam that takes an environment as data
from limen.contract import (
    MAX_TOKENS,
    STOP,
    TOOL_CALLS,
    Effort,
    GenerateOptions,
    LlmError,
    ModelInfo,
    ToolCallBlock,
    codes,
    tool_result,
    user,
)
from limen.testing.server import MockProvider, Raw, Script, Turn

KEY = "AIza-not-a-real-key"
NAME = "gemini-generate"


def made(base_url: str, **fields: object) -> GeminiAdapter:
    return GeminiAdapter(GeminiOptions(base_url=base_url, api_key=KEY, **fields))  # type: ignore[arg-type]


async def code_of(specification: str) -> str | None:
    """How a faulty answer ends: the code, raised or in-band."""
    async with MockProvider() as mock, limen.LlmRuntime() as llm:
        llm.register(["g"], made(mock.base_url(NAME, specification)))
        try:
            response = await llm.stream(GenerateOptions("g", "mock-text", [user("hi")])).response()
        except LlmError as error:
            return error.code
    return None if response.finish.failure is None else response.finish.failure.code


async def test_two_turns_of_parallel_calls_through_the_runtime() -> None:
    """Parallel signed calls and their results go back byte for byte, in the second request over a real socket (N4)."""
    parts = [text("plan", thought=True), call("add", {"left": 20.0}, thoughtSignature="c2ln"), call("now", {})]
    end = text("", thoughtSignature="ZW5k")
    body = chunk(*parts, usage=COUNTS) + chunk(end, finishReason="STOP", usage=COUNTS)
    script = Script([Turn([Raw(body.decode())], finish="STOP", usage=None), Turn([Raw(chunk(text("42.")).decode())])])
    async with MockProvider(script) as mock, limen.LlmRuntime() as llm:
        llm.register(["g"], made(mock.base_url(NAME)))
        tools = [limen.ToolSpec("add", "Adds", {"type": "object", "properties": {"left": {"type": "number"}}})]
        first = await llm.complete(GenerateOptions("g", MODERN, [user("20 + 22?")], tools=tools))
        assert first.message is not None
        results = [tool_result(one.id, name) for one, name in zip(first.tool_calls, ("42", "noon"), strict=True)]
        history = [user("20 + 22?"), first.message, *results]
        second = await llm.complete(GenerateOptions("g", MODERN, history, tools=tools))
        asked, again = await mock.request(1), await mock.request(2)

    assert (first.finish, second.finish, second.text) == (TOOL_CALLS, STOP, "42.")
    assert [(one.name, one.arguments) for one in first.tool_calls] == [("add", '{"left":20.0}'), ("now", "{}")]
    assert (asked.method, asked.target) == ("POST", f"/v1beta/models/{MODERN}:streamGenerateContent?alt=sse")
    assert asked.header("x-goog-api-key") == KEY
    assert again.json["contents"] == [
        {"role": "user", "parts": [text("20 + 22?")]},
        {"role": "model", "parts": [*parts, end]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "add", "response": {"output": "42"}}},
                {"functionResponse": {"name": "now", "response": {"output": "noon"}}},
            ],
        },
    ]
    assert b'"args":{"left":20.0}' in again.body


async def test_the_scripts_of_the_mock() -> None:
    """Text, thoughts, calls and limits of the mock provider come through, streamed and whole."""
    async with MockProvider() as mock, limen.LlmRuntime() as llm:
        llm.register(["g"], made(mock.base_url(NAME)))
        for model in ("mock-reasoning-tools", "mock-reasoning-tools+whole"):
            response = await llm.complete(GenerateOptions("g", model, [user("hi")]))
            assert response.tool_calls == (ToolCallBlock("call_add_1", "add", '{"left":20,"right":22}'),)
            assert response.reasoning
        cut = await llm.complete(GenerateOptions("g", "mock-max-tokens", [user("hi")]))
        assert cut.finish == MAX_TOKENS
        assert cut.info is not None
        assert (cut.info.response_model, cut.info.response_id) == ("mock-max-tokens", "resp_mock")


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("text+400", codes.INVALID_REQUEST),
        ("text+401", codes.AUTH),
        ("text+403", codes.AUTH),
        ("text+404", "HTTP_404"),
        ("text+429-no-hint", codes.RATE_LIMIT),
        ("text+500", codes.SERVER),
        ("text+504", codes.TIMEOUT),
        ("text+529", codes.OVERLOADED),
        ("text+no-finish", codes.STREAM_CLOSED),
        ("text+cut", codes.STREAM_CLOSED),
        ("text+error-event", codes.SERVER),
        ("text+json-error", codes.SERVER),
        ("text+html", codes.MALFORMED_RESPONSE),
        ("refusal", codes.CONTENT_FILTER),
    ],
)
async def test_failures_over_a_socket(fault: str, code: str) -> None:
    """Each fault of the mock provider has the contract's code."""
    assert await code_of(fault) == code


async def test_models_have_their_limits() -> None:
    """The list keeps those that generate content, with names, windows and the efforts of their family (R10)."""
    async with MockProvider() as mock:
        adapter = made(mock.base_url(NAME))
        listed = await adapter.list_models("g")
        request = await mock.request(1)
        await adapter.aclose()
    assert request.target == "/v1beta/models?pageSize=1000"
    assert (listed[0].context_window, listed[0].id.startswith("models/")) == (1_048_576, False)

    page = {
        "models": [
            {
                "name": "models/gemini-2.5-flash",
                "displayName": "Flash",
                "description": "fast",
                "inputTokenLimit": 1048576,
                "supportedGenerationMethods": ["generateContent"],
                "thinking": True,
            },
            {"name": "models/gemini-2.5-flash"},
            {"name": "models/embedding-1", "supportedGenerationMethods": ["embedContent"]},
            {"name": "models/gemini-2.0-flash", "thinking": False, "inputTokenLimit": 0},
            {"name": "models/gemini-9"},
            {"displayName": "nameless"},
        ]
    }
    efforts = tuple(Effort(one, one) for one in ("off", "low", "medium", "high"))
    codec = WIRE.codec("gemini")
    assert codec.parse_models("g", json.dumps(page).encode()) == (
        ModelInfo("g", "gemini-2.5-flash", "Flash", description="fast", context_window=1048576, efforts=efforts),
        ModelInfo("g", "gemini-2.0-flash", "gemini-2.0-flash", efforts=()),
        ModelInfo("g", "gemini-9", "gemini-9"),
    )
    vertex = {"publisherModels": [{"name": "publishers/google/models/gemini-9"}]}
    assert codec.parse_models("g", json.dumps(vertex).encode()) == (ModelInfo("g", "gemini-9", "gemini-9"),)
    assert codec.parse_models("g", b"{}") == ()
    for body in (b"[1]", b"no json", b'{"models":7}'):
        assert failure_of(partial(codec.parse_models, "g", body)).code == codes.INVALID_CATALOG


async def test_a_model_has_the_efforts_of_its_family() -> None:
    """Facts of a model are what is configured, and the family's efforts where nothing is."""
    known = ModelInfo("", "gemini-2.5-pro", "Mine", efforts=(Effort("low", "low"),))
    adapter = made("http://localhost/v1beta", models=[known])

    assert [one.id for one in (await adapter.resolve_model("g", "gemini-2.5-pro")).efforts or ()] == ["low"]
    assert [one.id for one in (await adapter.resolve_model("g", "gemini-3-pro-preview")).efforts or ()] == [
        "low",
        "high",
    ]
    assert (await adapter.resolve_model("g", "gemini-9")).efforts is None
    prepared = await adapter.prepare_call("g", "gemini-2.0-flash")
    assert prepared.model.efforts == ()


@pytest.mark.parametrize(
    ("location", "address"),
    [
        (None, "https://aiplatform.googleapis.com/v1beta1/projects/p-1/locations/global/publishers/google"),
        ("eu", "https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/p-1/locations/eu/publishers/google"),
        (
            "us-east1",
            "https://us-east1-aiplatform.googleapis.com/v1beta1/projects/p-1/locations/us-east1/publishers/google",
        ),
    ],
)
def test_the_address_of_a_project(location: str | None, address: str) -> None:
    """Project and location make the address; the credential is a bearer token (Vertex)."""
    codec = codec_of(GeminiOptions(project="p-1", location=location))

    assert (codec.dialect, codec.base_url, codec.auth_headers) == ("vertex", address, frozenset({"authorization"}))
    assert codec.key_variables == ()


def test_the_rows() -> None:
    """Without a project Vertex takes a key; every row is reachable by name."""
    express = codec_of(GeminiOptions(dialect="vertex"))

    assert express.base_url == "https://aiplatform.googleapis.com/v1beta1/publishers/google"
    assert (express.auth_headers, express.models_path) == (frozenset({"x-goog-api-key"}), None)
    home = codec_of(GeminiOptions())
    assert (home.dialect, home.key_variables) == ("gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY"))
    assert GeminiAdapter().retry_policy("g") is None
    assert repr(GoogleCredentials()) == "GoogleCredentials()"


@pytest.mark.parametrize(
    "fields",
    [
        {"project": "a b"},
        {"project": "p", "location": "../x"},
        {"project": "p", "dialect": "gemini"},
        {"location": "us-east1"},
        {"location": "us-east1", "dialect": "vertex"},
        {"credentials_file": "x.json"},
        {"safety_settings": {"HARM": "block it"}},
        {"safety_settings": {"harm": "OFF"}},
        {"base_url": "https://x.example/v1beta/models"},
    ],
)
def test_options_that_cannot_be(fields: dict[str, object]) -> None:
    """Options that contradict each other or are no names of the API are INVALID_CONFIG."""
    assert failure_of(lambda: GeminiAdapter(GeminiOptions(**fields))).code == codes.INVALID_CONFIG  # type: ignore[arg-type]


def test_an_unknown_dialect() -> None:
    """A row that there is not is UNSUPPORTED, as on every wire."""
    assert failure_of(lambda: codec_of(GeminiOptions(dialect="other"))).code == codes.UNSUPPORTED


async def test_a_project_with_a_token_of_ones_own() -> None:
    """A token given in code, or in a header, is used in place of Google's credentials."""
    async with MockProvider("text") as mock:
        url = mock.base_url(NAME)
        for options in (
            GeminiOptions(project="p", base_url=url, api_key="ya29.mine"),
            GeminiOptions(project="p", base_url=url, headers={"Authorization": "Bearer ya29.mine"}),
        ):
            adapter = GeminiAdapter(options)
            async for _ in adapter.stream(asking()):
                pass
            await adapter.aclose()
        first, second = await mock.request(1), await mock.request(2)

    assert [one.header("authorization") for one in (first, second)] == ["Bearer ya29.mine"] * 2


async def test_routes_of_a_configuration() -> None:
    """Options of the wire are keys of `[routes.x.options]`; the environment's key makes a route by itself."""
    routes = {
        "g": {"adapter": "gemini", "options": {"safety_settings": {"HARM_CATEGORY_HARASSMENT": "OFF"}}},
        "v": {"adapter": "gemini", "options": {"project": "p-1", "location": "us-east1"}},
        "e": {"adapter": "gemini", "dialect": "vertex"},
    }
    async with limen.open_runtime({"routes": routes}) as llm:
        assert sorted(one.id for one in llm.list_providers()) == ["e", "g", "v"]


def test_a_key_of_the_environment_is_a_route() -> None:
    """GEMINI_API_KEY or GOOGLE_API_KEY makes the route `gemini`, a key of Vertex the route `vertex`."""
    known = known_providers()

    for variable, route in (
        ("GEMINI_API_KEY", "gemini"),
        ("GOOGLE_API_KEY", "gemini"),
        ("GOOGLE_VERTEX_API_KEY", "vertex"),
    ):
        (found,) = routes_from(known, app=None, environ={variable: KEY})
        assert (found.name, found.adapter, found.dialect) == (route, "gemini", route)


def test_an_overflow_is_known_by_its_sentence() -> None:
    """Google's sentence for a prompt over the window is CONTEXT_WINDOW_EXCEEDED, a bad key AUTH whatever the status."""
    words = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    overflow = {"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}}
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
    key = {"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT", "details": details}}

    assert WIRE.classify(400, {}, json.dumps(overflow).encode()).code == codes.CONTEXT_WINDOW_EXCEEDED
    assert WIRE.classify(400, {}, json.dumps(key).encode()).code == codes.AUTH
    assert read(chunk(text("a")) + stopped()).code is None
