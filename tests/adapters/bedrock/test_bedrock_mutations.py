"""Damaged payloads in sound frames: whatever the JSON is, an LlmError or a grammatical stream."""

import random

from adapters.bedrock._converse_wire import Outcome, raw, read
from limen.contract import CODES
from limen.testing.wires import WIRES
from recording.test_mutations import mutated

PAYLOADS = (
    ("messageStart", b'{"role":"assistant","p":"abc"}'),
    ("contentBlockDelta", b'{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"hm"}}}'),
    ("contentBlockDelta", b'{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"sig"}}}'),
    ("contentBlockStop", b'{"contentBlockIndex":0}'),
    ("contentBlockDelta", b'{"contentBlockIndex":1,"delta":{"text":"a\\ud83d\\ude00"}}'),
    ("contentBlockStop", b'{"contentBlockIndex":1}'),
    ("contentBlockStart", b'{"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"t","name":"add"}}}'),
    ("contentBlockDelta", b'{"contentBlockIndex":2,"delta":{"toolUse":{"input":"{\\"a\\":1}"}}}'),
    ("contentBlockStop", b'{"contentBlockIndex":2}'),
    ("contentBlockStart", b'{"contentBlockIndex":3,"start":{"toolResult":{"toolUseId":"s","type":"r"}}}'),
    ("contentBlockDelta", b'{"contentBlockIndex":3,"delta":{"toolResult":[{"text":"x"}]}}'),
    ("messageStop", b'{"stopReason":"tool_use","additionalModelResponseFields":{"stop_sequence":"x"}}'),
    ("metadata", b'{"usage":{"inputTokens":3,"outputTokens":7,"cacheDetails":[{"inputTokens":1}]}}'),
)


def told(outcome: Outcome) -> tuple[object, object]:
    """What must not depend on the cuts; a message may quote what had arrived."""
    return outcome.chunks, outcome.code


def test_mutated_payloads_give_an_error_or_a_stream() -> None:
    """Each mutation ends in one of two ways, the same whole and cut up (C16, S2, S5)."""
    endings: set[str | None] = set()
    for number in range(400):
        rng = random.Random(number)
        place = rng.randrange(len(PAYLOADS))
        body = b"".join(
            raw(name, mutated(rng, payload)[: 1 << 20] if index == place else payload)
            for index, (name, payload) in enumerate(PAYLOADS)
        )
        whole = read(body)
        half = rng.randrange(len(body))
        assert told(read((body[:half], body[half:]))) == told(whole), number
        endings.add(whole.code)
    assert endings <= {None, *CODES}
    assert {None, "MALFORMED_RESPONSE"} <= endings
    assert "bedrock-converse" in WIRES
