"""The official clients against the mock provider: for every script they agree with what limen reads.

Run by `make test-clients`, in an environment of its own. What the clients do not know (an empty answer, a finish word
that nobody documented) is judged from what they report, by the contract's words.
"""

import sys
from collections.abc import Callable
from types import ModuleType

import _anthropic_reader
import _openai_reader
import _responses_reader
from _compare import FORMS, QUESTION, SCRIPTS, Reading, Table, limen_response, next_turn, reading_of

from limen.adapters.anthropic import AnthropicAdapter, AnthropicOptions
from limen.adapters.openai_chat import OpenAIChatAdapter, OpenAIChatOptions
from limen.adapters.openai_responses import OpenAIResponsesAdapter, OpenAIResponsesOptions
from limen.contract import LlmAdapter, user
from limen.testing.server import SCENARIOS, MockProvider

Make = Callable[[str], LlmAdapter]

# An unmodified whole answer holds an object where this script's arguments are no JSON.
NOT_WHOLE = {"max-tokens-tool"}


def openai_chat(base_url: str) -> LlmAdapter:
    return OpenAIChatAdapter(OpenAIChatOptions(base_url=base_url, api_key="sk-witness-0123456789"))


def anthropic(base_url: str) -> LlmAdapter:
    return AnthropicAdapter(
        AnthropicOptions(base_url=base_url, api_key="sk-ant-witness-0123456789", default_max_tokens=1024)
    )


def openai_responses(base_url: str) -> LlmAdapter:
    return OpenAIResponsesAdapter(OpenAIResponsesOptions(base_url=base_url, api_key="sk-witness-0123456789"))


def witness(mock: MockProvider, wire: str, reader: ModuleType, adapter: Make) -> bool:
    """Compare every script, streamed, spoiled in ways that it survives, and whole; and the turn after its calls."""
    base_url = mock.base_url(wire)
    table = Table(f"{reader.__name__.strip('_').partition('_')[0]} on {wire}")
    for script in SCRIPTS:
        for form in FORMS:
            model = f"mock-{script}{form}"
            table.compare(model, judged(reader.streamed(base_url, model), reader), ours(adapter, base_url, model))
        model = f"mock-{script}"
        if script not in NOT_WHOLE:
            whole = f"{model}+whole"
            table.compare(
                f"{model}, whole", judged(reader.whole(base_url, model), reader), ours(adapter, base_url, whole)
            )
        if len(SCENARIOS[script].turns) > 1:
            first = limen_response(adapter(base_url), model, [user(QUESTION)])
            history = next_turn(first)
            assert history is not None
            theirs = reader.streamed(base_url, model, reader.follow_up(reader.streamed(base_url, model)))
            mine = reading_of(limen_response(adapter(base_url), model, history))
            table.compare(f"{model}, second turn", judged(theirs, reader), mine)
    for fault, raised in reader.STATUSES.items():
        model = f"mock-text+{fault}"
        code = ours(adapter, base_url, model).end
        table.compare(f"{model} is a failure of that kind", failure(reader, base_url, model), (raised.__name__, code))
    return table.report()


def ours(adapter: type, base_url: str, model: str) -> Reading:
    return reading_of(limen_response(adapter(base_url), model, [user(QUESTION)]))


def judged(reading: Reading, reader: ModuleType) -> Reading:
    reading.end = reader.end(reading)
    return reading


CODES = {
    "BadRequestError": "INVALID_REQUEST",
    "AuthenticationError": "AUTH",
    "PermissionDeniedError": "AUTH",
    "NotFoundError": "HTTP_404",
    "ConflictError": "INVALID_REQUEST",
    "UnprocessableEntityError": "INVALID_REQUEST",
    "RateLimitError": "RATE_LIMIT",
    "InternalServerError": "SERVER",
    "OverloadedError": "OVERLOADED",
}


def failure(reader: ModuleType, base_url: str, model: str) -> tuple[str, str]:
    """The client's exception, and limen's code for such a one."""
    try:
        reader.streamed(base_url, model)
    except Exception as error:
        name = type(error).__name__
        code = "OVERLOADED" if getattr(error, "status_code", 0) == 529 else CODES.get(name, "?")
        return ("InternalServerError" if code == "OVERLOADED" else name), code
    return "no failure", "?"


def main() -> int:
    with MockProvider() as mock:
        agreed = [
            witness(mock, "openai-chat", _openai_reader, openai_chat),
            witness(mock, "anthropic-messages", _anthropic_reader, anthropic),
            witness(mock, "openai-responses", _responses_reader, openai_responses),
        ]
    return 0 if all(agreed) else 1


if __name__ == "__main__":
    sys.exit(main())
