"""How our own adapters are made for the judge; a third party writes the same few lines."""

from limen.adapters.anthropic import AnthropicAdapter, AnthropicOptions
from limen.adapters.bedrock import BedrockAdapter, BedrockOptions
from limen.adapters.cohere import CohereAdapter, CohereOptions
from limen.adapters.deepseek import DeepSeekAdapter, DeepSeekOptions
from limen.adapters.gemini import GeminiAdapter, GeminiOptions
from limen.adapters.mistral import MistralAdapter, MistralOptions
from limen.adapters.ollama import OllamaAdapter, OllamaOptions
from limen.adapters.openai_chat import OpenAIChatAdapter, OpenAIChatOptions
from limen.adapters.openai_responses import OpenAIResponsesAdapter, OpenAIResponsesOptions
from limen.testing.conformance import Endpoint


def deepseek(endpoint: Endpoint) -> DeepSeekAdapter:
    """DeepSeek, on the wire `openai-chat`."""
    return DeepSeekAdapter(
        DeepSeekOptions(
            base_url=endpoint.base_url, api_key=endpoint.api_key, timeouts=endpoint.timeouts, limits=endpoint.limits
        )
    )


def openai_chat(endpoint: Endpoint) -> OpenAIChatAdapter:
    """Any host of chat completions."""
    return OpenAIChatAdapter(
        OpenAIChatOptions(
            base_url=endpoint.base_url, api_key=endpoint.api_key, timeouts=endpoint.timeouts, limits=endpoint.limits
        )
    )


def openai(endpoint: Endpoint) -> OpenAIChatAdapter:
    """OpenAI itself: the row with the strictest table."""
    return OpenAIChatAdapter(
        OpenAIChatOptions(
            base_url=endpoint.base_url,
            api_key=endpoint.api_key,
            timeouts=endpoint.timeouts,
            limits=endpoint.limits,
            dialect="openai",
        )
    )


def anthropic(endpoint: Endpoint) -> AnthropicAdapter:
    """Anthropic's messages."""
    return AnthropicAdapter(
        AnthropicOptions(
            base_url=endpoint.base_url, api_key=endpoint.api_key, timeouts=endpoint.timeouts, limits=endpoint.limits
        )
    )


def gemini(endpoint: Endpoint) -> GeminiAdapter:
    """The Gemini Developer API."""
    return GeminiAdapter(
        GeminiOptions(
            base_url=endpoint.base_url,
            api_key=endpoint.api_key,
            timeouts=endpoint.timeouts,
            limits=endpoint.limits,
        )
    )


def ollama(endpoint: Endpoint) -> OllamaAdapter:
    """Ollama's cloud, which takes a key."""
    return OllamaAdapter(
        OllamaOptions(
            base_url=endpoint.base_url,
            api_key=endpoint.api_key,
            timeouts=endpoint.timeouts,
            limits=endpoint.limits,
            dialect="ollama-cloud",
        )
    )


def cohere(endpoint: Endpoint) -> CohereAdapter:
    """Cohere's chat."""
    return CohereAdapter(
        CohereOptions(
            base_url=endpoint.base_url,
            api_key=endpoint.api_key,
            timeouts=endpoint.timeouts,
            limits=endpoint.limits,
        )
    )


def mistral(endpoint: Endpoint) -> MistralAdapter:
    """Mistral's chat completions."""
    return MistralAdapter(
        MistralOptions(
            base_url=endpoint.base_url,
            api_key=endpoint.api_key,
            timeouts=endpoint.timeouts,
            limits=endpoint.limits,
        )
    )


def openai_responses(endpoint: Endpoint) -> OpenAIResponsesAdapter:
    """OpenAI itself, on the wire `openai-responses`."""
    return OpenAIResponsesAdapter(
        OpenAIResponsesOptions(
            base_url=endpoint.base_url,
            api_key=endpoint.api_key,
            timeouts=endpoint.timeouts,
            limits=endpoint.limits,
            dialect="openai",
        )
    )


def bedrock(endpoint: Endpoint) -> BedrockAdapter:
    """Bedrock's Converse, with an API key."""
    return BedrockAdapter(
        BedrockOptions(
            base_url=endpoint.base_url, api_key=endpoint.api_key, timeouts=endpoint.timeouts, limits=endpoint.limits
        )
    )
