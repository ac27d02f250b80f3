"""A row bound to the wire: headers, keys, readers, lists of models (R10)."""

import json
from typing import Any

import pytest

from limen.adapters import BuildContext
from limen.adapters.openai_chat import ROWS, WIRE
from limen.contract import Effort, GenerateOptions, LlmError, ModelInfo, codes, user
from limen.transport import HttpRequest


def test_a_request_without_its_key() -> None:
    """The codec makes path, headers and body; credentials come from elsewhere (K7)."""
    request = WIRE.codec("openai").build(GenerateOptions("route", "m", [user("hi")]), BuildContext())
    assert (request.method, request.path, dict(request.headers)) == (
        "POST",
        "/chat/completions",
        {"content-type": "application/json", "accept": "text/event-stream"},
    )
    assert request.body == (
        b'{"model":"m","messages":[{"role":"developer","content":"hi"}],"stream":true}'.replace(b"developer", b"user")[
            :-1
        ]
        + b',"stream_options":{"include_usage":true}}'
    )


def test_the_header_that_carries_a_key() -> None:
    """Bearer everywhere but at Azure, whose header is `api-key`."""
    found = {
        name: WIRE.codec(name).authorize(HttpRequest("POST", "https://host.example", [], b""), "k")
        for name in ("generic", "azure")
    }
    assert found == {"generic": (("authorization", "Bearer k"),), "azure": (("api-key", "k"),)}


def test_a_codec_says_what_its_row_says() -> None:
    """What an adapter needs of a row beside requests and answers."""
    deepseek, generic = WIRE.codec("deepseek"), WIRE.codec("generic")
    found = [
        (one.wire, one.dialect, one.base_url, one.key_variables, one.requires_key, one.models_path)
        for one in (deepseek, generic)
    ]
    assert found == [
        ("openai-chat", "deepseek", "https://api.deepseek.com", ("DEEPSEEK_API_KEY",), True, "/models"),
        ("openai-chat", "generic", None, (), False, "/models"),
    ]
    assert (deepseek.efforts, generic.efforts) == (
        tuple(Effort(level, level) for level in ("off", "low", "high", "max")),
        None,
    )
    assert (deepseek.default_max_tokens, deepseek.min_timeouts is not None, generic.min_timeouts) == (None, True, None)


def test_an_unknown_dialect_is_named() -> None:
    """A row that does not exist is `UNSUPPORTED`, with the rows that do."""
    with pytest.raises(LlmError, match="no dialect 'nope'; it has azure, azure-entra, cerebras") as caught:
        WIRE.codec("nope")
    assert caught.value.code == codes.UNSUPPORTED


def test_the_wire_has_every_row() -> None:
    """`limen.wires()` and the offline functions see all rows; `generic` is what is meant without a name."""
    assert (WIRE.name, tuple(WIRE.dialects), WIRE.default_dialect) == ("openai-chat", tuple(ROWS), "generic")


@pytest.mark.parametrize("dialect", tuple(ROWS))
def test_every_row_reads_and_classifies(dialect: str) -> None:
    """A row's reader reads a plain stream, and its errors are classified."""
    body = (
        b'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}]}\n\n'
        b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    )
    reader = WIRE.codec(dialect).reader()
    chunks = [*reader.feed(body), *reader.eof()]
    assert (reader.failure, reader.done, len(chunks)) == (None, True, 4)
    assert WIRE.codec(dialect).classify(401, {"x-request-id": "r"}, b"").code == codes.AUTH


def listing(dialect: str, *models: Any, bare: bool = False) -> tuple[ModelInfo, ...]:
    """Return what a list of models is read as."""
    body = list(models) if bare else {"object": "list", "data": models}
    return WIRE.codec(dialect).parse_models("route", json.dumps(body).encode())


def test_a_list_of_ids() -> None:
    """Ids alone are models of which nothing else is known (R10)."""
    assert listing("deepseek", {"id": "a", "object": "model", "owned_by": "x"}) == (ModelInfo("route", "a", "a"),)


@pytest.mark.parametrize("field", ["context_length", "context_window", "max_context_length", "max_model_len"])
def test_windows_by_their_names(field: str) -> None:
    """A window is read by the names that gateways give it; zero is unknown."""
    found = listing("generic", {"id": "a", field: 4096}, {"id": "b", field: 0}, {"id": "c", field: None})
    assert [model.context_window for model in found] == [4096, None, None]


def test_the_window_that_llama_cpp_serves() -> None:
    """llama.cpp names the context in use inside `meta`; another host's `meta` says nothing (finding P7)."""
    found = listing("llamacpp", {"id": "a", "meta": {"n_ctx": 4096}}, {"id": "b", "meta": 7}, {"id": "c", "meta": {}})
    assert [model.context_window for model in found] == [4096, None, None]


def test_a_bare_list_names_and_duplicates() -> None:
    """Together sends a bare list; names are kept; an entry without an id, or with a known one, is left out."""
    entries = [
        {"id": "a", "display_name": "A", "description": "d"},
        {"id": "b", "name": "B", "description": ""},
        {"id": "a", "name": "again"},
        {"id": None},
        {"name": "nameless"},
        {"id": ""},
    ]
    assert listing("together", *entries, bare=True) == (
        ModelInfo("route", "a", "A", description="d"),
        ModelInfo("route", "b", "B"),
    )


def test_openrouters_facts() -> None:
    """Modalities and efforts as that gateway means them: absent is no reasoning, null any level, none is off."""
    found = listing(
        "openrouter",
        {"id": "a", "architecture": {"input_modalities": ["text", "file", "image"]}, "context_length": 9},
        {"id": "b", "reasoning": {"supported_efforts": ["high", "none"], "default_effort": "none"}},
        {"id": "c", "reasoning": {"supported_efforts": None, "default_effort": "high"}},
        {"id": "d", "reasoning": {"supported_efforts": ["low"], "default_effort": "high"}, "architecture": {}},
    )
    assert found == (
        ModelInfo("route", "a", "a", input_modalities=("text", "image"), context_window=9, efforts=()),
        ModelInfo("route", "b", "b", efforts=(Effort("high", "high"), Effort("off", "off")), default_effort="off"),
        ModelInfo("route", "c", "c"),
        ModelInfo("route", "d", "d", efforts=(Effort("low", "low"),)),
    )


def test_other_gateways_efforts_are_not_guessed() -> None:
    """What OpenRouter means by a missing field is nobody else's meaning (R10)."""
    assert [model.efforts for model in listing("generic", {"id": "a"})] == [None]


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"data":7}', b'{"models":[]}', b'[{"id":7}]', b"[" * 500])
def test_anything_else_is_no_catalogue(body: bytes) -> None:
    """A body that is no list of models is `INVALID_CATALOG` and names the route."""
    with pytest.raises(LlmError, match="the model list of route is not a list of models") as caught:
        WIRE.codec("generic").parse_models("route", body)
    assert caught.value.code == codes.INVALID_CATALOG
