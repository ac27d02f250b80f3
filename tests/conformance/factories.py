"""How our own adapters are made for the judge; a third party writes the same few lines."""

from limen.adapters.anthropic import AnthropicAdapter, AnthropicOptions
from limen.adapters.bedrock import BedrockAdapter, BedrockOptions
from limen.adapters.deepseek import DeepSeekAdapter, DeepSeekOptions
from limen.adapters.openai_chat import OpenAIChatAdapter, OpenAIChatOptions
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


def bedrock(endpoint: Endpoint) -> BedrockAdapter:
    """Bedrock's Converse, with an API key."""
    return BedrockAdapter(
        BedrockOptions(
            base_url=endpoint.base_url, api_key=endpoint.api_key, timeouts=endpoint.timeouts, limits=endpoint.limits
        )
    )
