"""The rows as a table: which there are, what each may say, and that the documentation says the same."""

import json
from pathlib import Path

import pytest
from msgspec import structs

from adapters.openai_chat._dialect_tables import TABLES, table
from limen import iter_chunks
from limen.adapters.openai_chat import ROWS
from limen.adapters.openai_chat._dialects import EffortRules
from limen.contract import BlockEnd, FrozenDict, ReasoningBlock, TextBlock

PAGE = Path(__file__).parents[3] / "docs" / "dialects.md"

ASKED_FOR = {
    "openai", "deepseek", "azure", "openrouter", "groq", "mistral", "xai", "together", "fireworks", "cerebras",
    "moonshot", "dashscope", "zai", "minimax", "nvidia", "huggingface", "perplexity", "ollama", "vllm", "sglang",
    "llamacpp", "lmstudio", "generic",
}  # fmt: skip
LOCAL = ("ollama", "vllm", "sglang", "llamacpp", "lmstudio")


def test_the_rows_that_were_asked_for_are_there() -> None:
    """Every gateway of issue 5 has a row, and a row is found by its own name."""
    assert set(ROWS) >= ASKED_FOR
    assert {name: row.name for name, row in ROWS.items()} == {name: name for name in ROWS}


@pytest.mark.parametrize("title", TABLES)
def test_the_page_shows_the_rows_as_they_are(title: str) -> None:
    """docs/dialects.md holds this table; a changed row changes the page with it."""
    assert f"## {title}\n\n{table(title)}\n" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", LOCAL)
def test_local_servers_need_no_key_and_speak_plain_http(name: str) -> None:
    """A server on this machine asks for no key, and a key may go to it over plain http (K6)."""
    row = ROWS[name]
    assert (row.requires_key, (row.base_url or "").startswith("http://localhost:")) == (False, True)


def test_every_other_address_is_encrypted_and_wants_a_key() -> None:
    """A hosted row has an https address, if it has one at all, and requires a key (K4, K6)."""
    hosted = {name: row for name, row in ROWS.items() if name not in LOCAL and not name.startswith("generic")}
    assert {name for name, row in hosted.items() if row.base_url is None} == {"azure", "azure-entra"}
    assert all(row.requires_key and row.key_variables for row in hosted.values())
    assert all((row.base_url or "https://").startswith("https://") for row in hosted.values())


def test_generic_claims_nothing() -> None:
    """An unknown server gets the conservative default in everything but the key it may not need (issue 5)."""
    generic, other = ROWS["generic"], ROWS["generic-no-usage"]
    assert (generic.base_url, generic.requires_key, generic.key_variables, generic.errors.rows) == (None, False, (), ())
    assert (generic.refuses, generic.tool_ids, generic.reasoning_back) == ({}, None, None)
    assert (generic.stream_usage, other.stream_usage) == (True, False)


def test_a_row_that_lists_off_says_how() -> None:
    """`off` is in a list exactly where the wire can turn reasoning off (R4)."""
    with pytest.raises(ValueError, match="says how it is spelled"):
        EffortRules(levels=("off", "high"), level=FrozenDict({"reasoning_effort": "$effort"}))
    assert all(("off" in (row.efforts.levels or ())) <= (row.efforts.off is not None) for row in ROWS.values())


def test_rows_are_frozen_to_the_bottom() -> None:
    """Rows are shared by every adapter of the process, so nothing in them can change: all of it has a hash."""
    assert len({*ROWS.values()}) == len(ROWS)


@pytest.mark.parametrize("name", ["groq", "perplexity", "minimax"])
def test_thinking_inside_the_text_is_reasoning(name: str) -> None:
    """Hosts that put <think> into the text have it read as reasoning, however the stream was cut (W9)."""
    texts = ("<thi", "nk>Hm.</think>", "42")
    events = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in texts]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    stream = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"
    blocks = [
        chunk.block for chunk in iter_chunks("openai-chat", [stream], dialect=name) if isinstance(chunk, BlockEnd)
    ]
    assert blocks == [ReasoningBlock("Hm."), TextBlock("42")]


def test_azure_takes_a_key_or_a_token_of_entra() -> None:
    """A key goes into `api-key`, a token of Microsoft Entra ID into `Authorization: Bearer`; all else is the same."""
    key, token = ROWS["azure"], ROWS["azure-entra"]
    assert (key.key_header, token.key_header) == ("api-key", "bearer")
    assert (key.key_variables[0], token.key_variables) == ("AZURE_OPENAI_API_KEY", ("AZURE_OPENAI_AD_TOKEN",))
    assert structs.replace(token, name=key.name, vendor=key.vendor, key_header=key.key_header) == key
