"""Built-in scripts, by name: a client asks for one with the model `mock-<name>`, so that it needs no change."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from limen.testing.scripts import Reasoning, Refusal, Script, Text, ToolCall, Turn, Usage

ADD_ARGUMENTS: Final = '{"left":20,"right":22}'

_ADD = ToolCall("call_add_1", "add", ['{"le', 'ft":20,', '"right":22}'])
_SUM = Turn([Text("The sum is 42.")], usage=Usage(input=58, output=6))
_THOUGHT = Reasoning("The user wants a greeting, so I greet.")
# A text with what splitting bytes breaks: two, three and four bytes a character, a joined emoji, line separators.
UNICODE_TEXT: Final = "Grüße, 世界! 👩‍🚀 \u2028 and \u0085 are no line ends."


def _one(turn: Turn) -> Script:
    return Script([turn])


SCENARIOS: Final[Mapping[str, Script]] = MappingProxyType(
    {
        "text": _one(Turn([Text("Hello from the mock provider.")])),
        "reasoning": _one(
            Turn([_THOUGHT, Text("Hello, after some thought.")], usage=Usage(input=12, output=19, reasoning=9))
        ),
        "reasoning-only": _one(Turn([_THOUGHT], usage=Usage(input=12, output=9, reasoning=9))),
        "redacted": _one(Turn([Reasoning("", redacted="b3BhcXVl"), Text("Hello, silently considered.")])),
        # What is 20 + 22? The model calls `add`, and after the result says what it is.
        "tools": Script([Turn([_ADD], usage=Usage(input=44, output=17)), _SUM]),
        "text-and-tools": Script([Turn([Text("Let me add that up."), _ADD], usage=Usage(input=44, output=22)), _SUM]),
        "reasoning-tools": Script(
            [
                Turn([Reasoning("I need the add tool."), _ADD], usage=Usage(input=44, output=23, reasoning=6)),
                _SUM,
            ]
        ),
        "parallel-tools": Script(
            [
                Turn(
                    [_ADD, ToolCall("call_add_2", "add", ['{"left":1,', '"right":2}'])],
                    usage=Usage(input=44, output=34),
                ),
                Turn([Text("The sums are 42 and 3.")]),
            ]
        ),
        "interleaved-tools": Script(
            [
                Turn(
                    [_ADD, ToolCall("call_add_2", "add", ['{"left":1,', '"right":2}'])],
                    interleave=True,
                    usage=Usage(input=44, output=34),
                ),
                Turn([Text("The sums are 42 and 3.")]),
            ]
        ),
        "no-arguments": Script([Turn([ToolCall("call_now", "now", [])]), Turn([Text("It is noon.")])]),
        "usage-attached": _one(Turn([Text("Counted with the finish.")], usage_at="attached")),
        "usage-repeated": _one(Turn([Text("Counted along the way.")], usage_at="repeated")),
        "usage-cached": _one(
            Turn(
                [Text("Mostly from the cache.")],
                usage=Usage(input=20, output=5, cache_read=256, cache_write=32, reasoning=0),
            )
        ),
        "no-usage": _one(Turn([Text("Nobody counted.")], usage=None)),
        "refusal": _one(Turn([Refusal("I cannot help with that.")])),
        "filtered": _one(Turn([Text("This goes on until")], finish="content_filter")),
        "max-tokens": _one(Turn([Text("This answer is cut")], finish="max-tokens")),
        "max-tokens-tool": _one(Turn([ToolCall("call_add_1", "add", ['{"left":20,', '"ri'])], finish="max-tokens")),
        "stop-sequence": _one(Turn([Text("One, two,")], finish="stop-sequence", stop_sequence="three")),
        "unknown-finish": _one(Turn([Text("And then")], finish="solar_flare")),
        "empty": _one(Turn([], usage=Usage(input=12, output=0))),
        "blank": _one(Turn([Text([" ", "\n"])])),
        "unicode": _one(Turn([Text(list(UNICODE_TEXT))])),
        "long": _one(Turn([Text([f"word{number} " for number in range(2000)])], usage=Usage(input=12, output=2000))),
        "slow": Script([Turn([Text([f"word{number} " for number in range(20)])])], delay_ms=250),
    }
)
