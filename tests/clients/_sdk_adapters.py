"""The adapters of `examples/` around the official clients before the judge: the basics."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

from limen.contract import LlmAdapter
from limen.testing.conformance import Endpoint, check_adapter

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

from anthropic_sdk_adapter import AnthropicSdkAdapter  # noqa: E402 - the examples' folder is on the path by now
from openai_sdk_adapter import OpenAiSdkAdapter  # noqa: E402

# Of the basics the clients themselves keep this one from being passed: they read a page of HTML as an empty stream.
KNOWN = {("S3", "no-stream")}


def judged() -> bool:
    """Judge both adapters; true if they pass the basics, as far as the client lets them."""
    found = [_judge("openai-chat", OpenAiSdkAdapter), _judge("anthropic-messages", AnthropicSdkAdapter)]
    return all(found)


def _judge(wire: str, kind: Callable[..., LlmAdapter]) -> bool:
    def factory(endpoint: Endpoint) -> LlmAdapter:
        return kind(endpoint.base_url, endpoint.api_key)

    report = asyncio.run(check_adapter(factory, wire, basics=True))
    wrong = [one for one in report.failures if (one.rule, one.name) not in KNOWN]
    for failure in wrong:
        print(f"  {failure.rule} {failure.name}: {failure.detail}")
    print(f"{kind.__name__}: {len(report.results)} basic checks, {len(wrong)} not passed that should be")
    return not wrong
