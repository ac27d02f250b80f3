"""The official clients against the mock provider: for every script they agree with what limen reads.

Run by `make test-clients`, in an environment of its own. What the clients do not know (an empty answer, a finish word
that nobody documented) is judged from what they report, by the contract's words.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import _anthropic_reader
import _bedrock_reader
import _cohere_reader
import _gemini_reader
import _mistral_reader
import _ollama_reader
import _openai_reader
import _responses_reader
import _sdk_adapters
from _compare import CODE_OF_STATUS, FORMS, QUESTION, SCRIPTS, Reading, Table, limen_response, next_turn, reading_of

from limen.adapters.anthropic import AnthropicAdapter, AnthropicOptions
from limen.adapters.bedrock import BedrockAdapter, BedrockOptions
from limen.adapters.cohere import CohereAdapter, CohereOptions
from limen.adapters.gemini import GeminiAdapter, GeminiOptions
from limen.adapters.mistral import MistralAdapter, MistralOptions
from limen.adapters.ollama import OllamaAdapter, OllamaOptions
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


def bedrock(base_url: str) -> LlmAdapter:
    return BedrockAdapter(BedrockOptions(base_url=base_url, api_key="bedrock-witness-0123456789"))


def gemini(base_url: str) -> LlmAdapter:
    return GeminiAdapter(GeminiOptions(base_url=base_url, api_key="AIza-witness-0123456789"))


def ollama(base_url: str) -> LlmAdapter:
    return OllamaAdapter(OllamaOptions(base_url=base_url))


def cohere(base_url: str) -> LlmAdapter:
    return CohereAdapter(CohereOptions(base_url=base_url, api_key="co-witness-0123456789"))


def mistral(base_url: str) -> LlmAdapter:
    return MistralAdapter(MistralOptions(base_url=base_url, api_key="mistral-witness-0123456789"))


def openai_responses(base_url: str) -> LlmAdapter:
    return OpenAIResponsesAdapter(OpenAIResponsesOptions(base_url=base_url, api_key="sk-witness-0123456789"))


def witness(mock: MockProvider, wire: str, reader: ModuleType, adapter: Make) -> bool:
    """Compare every script, streamed, spoiled in ways that it survives, and whole; and the turn after its calls."""
    base_url = mock.base_url(wire)
    table = Table(f"{reader.__name__.strip('_').partition('_')[0]} on {wire}")
    for script in SCRIPTS:
        if script in getattr(reader, "SKIPPED", ()):
            continue
        for form in getattr(reader, "FORMS", FORMS):
            model = f"mock-{script}{form}"
            mine = told(ours(adapter, base_url, model), reader)
            table.compare(model, judged(reader.streamed(base_url, model), reader), mine)
        model = f"mock-{script}"
        if script not in NOT_WHOLE | getattr(reader, "NOT_WHOLE", set()):
            whole = f"{model}+whole"
            mine = told(ours(adapter, base_url, whole), reader)
            table.compare(f"{model}, whole", judged(reader.whole(base_url, model), reader), mine)
        if len(SCENARIOS[script].turns) > 1:
            first = limen_response(adapter(base_url), model, [user(QUESTION)])
            history = next_turn(first)
            assert history is not None
            theirs = reader.streamed(base_url, model, reader.follow_up(reader.streamed(base_url, model)))
            mine = told(reading_of(limen_response(adapter(base_url), model, history)), reader)
            table.compare(f"{model}, second turn", judged(theirs, reader), mine)
    for fault, raised in reader.STATUSES.items():
        model = f"mock-text+{fault}"
        code = ours(adapter, base_url, model).end
        table.compare(f"{model} is a failure of that kind", failure(reader, base_url, model), (raised.__name__, code))
    return table.report()


def ours(adapter: type, base_url: str, model: str) -> Reading:
    return reading_of(limen_response(adapter(base_url), model, [user(QUESTION)]))


def told(reading: Reading, reader: ModuleType) -> Reading:
    """limen's reading as far as the client tells of it: some leave fields out (`UNSEEN`), one reads no ids of calls."""
    for name in getattr(reader, "UNSEEN", ()):
        setattr(reading, name, "")
    if getattr(reader, "IDS", True):
        return reading
    return replace(reading, calls=[("", name, arguments) for _, name, arguments in reading.calls])


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
    "UnauthorizedError": "AUTH",
    "ForbiddenError": "AUTH",
    "TooManyRequestsError": "RATE_LIMIT",
    "HTTPValidationError": "INVALID_REQUEST",
}


# Of clients that have one exception for several statuses.
def failure(reader: ModuleType, base_url: str, model: str) -> tuple[str, str]:
    """The client's exception, and limen's code for such a one."""
    try:
        reader.streamed(base_url, model)
    except Exception as error:
        name = type(error).__name__
        if hasattr(reader, "code_of"):
            return name, reader.code_of(error)
        status = getattr(error, "status_code", 0)
        code = "OVERLOADED" if status == 529 else CODES.get(name) or CODE_OF_STATUS.get(status, "?")
        return ("InternalServerError" if code == "OVERLOADED" else name), code
    return "no failure", "?"


def main() -> int:
    with MockProvider() as mock:
        agreed = [
            witness(mock, "openai-chat", _openai_reader, openai_chat),
            witness(mock, "anthropic-messages", _anthropic_reader, anthropic),
            witness(mock, "gemini-generate", _gemini_reader, gemini),
            witness(mock, "bedrock-converse", _bedrock_reader, bedrock),
            witness(mock, "ollama-chat", _ollama_reader, ollama),
            witness(mock, "cohere", _cohere_reader, cohere),
            witness(mock, "mistral", _mistral_reader, mistral),
            witness(mock, "openai-responses", _responses_reader, openai_responses),
        ]
    return 0 if all([*agreed, _sdk_adapters.judged()]) else 1


if __name__ == "__main__":
    sys.exit(main())
