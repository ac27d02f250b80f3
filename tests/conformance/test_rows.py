"""Every dialect row of every wire, judged like an adapter of its own: a row is data, and data can be wrong."""

import asyncio
import pkgutil

import msgspec
import pytest

from conformance._invoke_model import InvokeModelMock
from limen import _compose, wires
from limen._registration import specs
from limen.contract import LlmAdapter
from limen.testing.conformance import WIRES, Endpoint, WireDescription, check_adapter, table
from limen.testing.wires.anthropic_messages import AnthropicMessagesMock
from limen.testing.wires.openai_chat import OpenAIChatMock

CHAT = "openai-chat"
ROWS = [(wire, row) for wire, rows in wires().items() if wire in WIRES for row in rows]

# What of these hosts differs from their wire, by their documentation; the rows' own pages say where that stands.
DIFFERENT: dict[tuple[str, str], dict[str, object]] = {
    (CHAT, "mistral"): {"mock": OpenAIChatMock(counts_unasked=True)},
    (CHAT, "generic-no-usage"): {"mock": OpenAIChatMock(counts_unasked=True)},
    (CHAT, "perplexity"): {"mock": OpenAIChatMock(counts_unasked=True), "tools": False},
    (CHAT, "dashscope"): {"codes": {"quota": "RATE_LIMIT"}},
    ("anthropic-messages", "vertex"): {"mock": AnthropicMessagesMock(path=":streamRawPredict")},
    ("anthropic-messages", "bedrock"): {"mock": InvokeModelMock(), "sse": False, "oddities": ()},
}


def description(wire: str, row: str) -> WireDescription:
    return msgspec.structs.replace(WIRES[wire], **DIFFERENT.get((wire, row), {}))


def make(wire: str, row: str, endpoint: Endpoint) -> LlmAdapter:
    """Make the adapter that is at home on the wire, on one of its rows."""
    spec = next(spec for spec in specs() if spec.wire is not None and spec.wire.name == wire and not spec.dialects)
    options = spec.options(
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        timeouts=endpoint.timeouts,
        limits=endpoint.limits,
        dialect=row,
    )
    return spec.adapter(options)


@pytest.mark.slow
@pytest.mark.parametrize(("wire", "row"), ROWS)
def test_row(wire: str, row: str) -> None:
    """The row keeps every promise that its host lets it keep."""
    report = asyncio.run(check_adapter(lambda endpoint: make(wire, row, endpoint), description(wire, row)))

    assert report.passed, table(report)


def test_what_differs_is_a_row() -> None:
    """Nothing is said of a host that has no row."""
    assert set(DIFFERENT) <= set(ROWS)


def test_every_wire_is_described_where_its_spec_says() -> None:
    """The description that a spec names is the one of the kit's own wires, so `limen check --wire` finds it."""
    named = {wire: pkgutil.resolve_name(place) for wire, place in _compose.descriptions().items()}

    assert named == dict(WIRES)
    assert set(named) == set(wires())
