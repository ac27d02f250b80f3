"""Lists of models of Ollama, and the facts that each model is asked for (R10)."""

import json

import pytest

from limen.adapters.ollama import WIRE, OllamaOptions
from limen.adapters.ollama._adapter import codec_of
from limen.contract import LlmError, ModelInfo, codes

LISTED = ModelInfo("p", "qwen3", "qwen3")


def models(body: object) -> tuple[ModelInfo, ...]:
    """The list that a body holds."""
    return WIRE.codec(None).parse_models("p", json.dumps(body).encode())


def shown(body: object, known: ModelInfo = LISTED, **options: object) -> ModelInfo | None:
    """A model with the facts of a body."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return codec_of(OllamaOptions(**options)).parse_details(known, data)  # type: ignore[arg-type]


def test_a_list() -> None:
    """A model's name, and window, input and thinking where the list states them; embedders are left out."""
    seeing = ["completion", "vision", "tools", "thinking"]
    body = {
        "models": [
            {"name": "llama3:latest", "size": 1},
            {"name": "a", "model": "qwen3-vl", "details": {"context_length": 262144}, "capabilities": seeing},
            {"model": "gemma", "details": None, "capabilities": ["completion"], "remote_host": "https://ollama.com"},
            {"model": "nomic-embed-text", "capabilities": ["embedding"]},
            {"model": "qwen3-vl"},
            {"size": 7},
        ]
    }

    assert models(body) == (
        ModelInfo("p", "llama3:latest", "llama3:latest"),
        ModelInfo("p", "qwen3-vl", "qwen3-vl", context_window=262144, input_modalities=("text", "image")),
        ModelInfo("p", "gemma", "gemma", input_modalities=("text",), efforts=()),
    )


def test_a_server_without_models() -> None:
    """An empty list and null are no models."""
    assert models({"models": []}) == models({"models": None}) == ()


@pytest.mark.parametrize("body", [b"<html>", b"{}", b"[]", b'{"models":7}', b'{"models":[7]}', b""])
def test_no_list(body: bytes) -> None:
    """Anything but a list of models is INVALID_CATALOG."""
    with pytest.raises(LlmError) as caught:
        WIRE.codec(None).parse_models("p", body)

    assert caught.value.code == codes.INVALID_CATALOG


INFO = {"general.architecture": "qwen3", "qwen3.context_length": 40960, "qwen3.embedding_length": 2560}


@pytest.mark.parametrize(
    ("body", "window"),
    [
        ({"model_info": INFO}, 40960),
        ({"model_info": INFO, "parameters": 'stop    "<|im_end|>"\nnum_ctx    8192\ntop_k  20'}, 8192),
        ({"model_info": INFO, "parameters": "num_ctx many\nnum_ctx\nnum_ctx 0"}, 40960),
        ({"model_info": {**INFO, "qwen3.context_length": True}}, 1024),
        ({"model_info": {**INFO, "qwen3.context_length": "40960"}}, 1024),
        ({"model_info": {**INFO, "qwen3.context_length": 0}}, 1024),
        ({"model_info": {}}, 1024),
        ({}, 1024),
        (b"<html>", 1024),
    ],
)
def test_the_window(body: object, window: int) -> None:
    """The window is the Modelfile's, else the trained one, else what the list said."""
    known = ModelInfo("p", "qwen3", "qwen3", context_window=1024)

    assert shown(body, known) == ModelInfo("p", "qwen3", "qwen3", context_window=window)


def test_the_window_of_a_route() -> None:
    """The `num_ctx` that a route sends is the window that its calls have; one that is no count is the server's."""
    sized = [shown({"model_info": INFO}, options={"num_ctx": size}) for size in (16384, 0, "many", None)]

    assert [model and model.context_window for model in sized] == [16384, 40960, 40960, 40960]


def test_capabilities() -> None:
    """What a model can do is told by its capabilities; one that answers no chats is left out."""
    assert shown({"capabilities": ["completion", "vision", "thinking"]}) == ModelInfo(
        "p", "qwen3", "qwen3", input_modalities=("text", "image")
    )
    assert shown({"capabilities": ["completion"]}) == ModelInfo(
        "p", "qwen3", "qwen3", input_modalities=("text",), efforts=()
    )
    assert shown({"capabilities": ["embedding"]}) is None


def test_the_request() -> None:
    """One model is asked for by its name."""
    request = codec_of(OllamaOptions()).details_request(LISTED)

    assert (request.method, request.path, json.loads(request.body)) == ("POST", "/api/show", {"model": "qwen3"})
