"""The adapter around `litellm` before the judge, on both wires; `--write` renews the report on its page.

Run by `make test-litellm`, in an environment of its own. Exits 1 if the judge finds anything that the page does not
explain, or if something that the page explains holds now.
"""

import asyncio
import re
import sys
from importlib.metadata import version
from pathlib import Path

from limen.adapters.library import LiteLlmAdapter, LiteLlmOptions
from limen.contract import LlmAdapter
from limen.testing.conformance import Endpoint, Report, check_adapter, table

PAGE = Path(__file__).parents[2] / "docs" / "adapters-litellm.md"
BEGIN, END = "<!-- report: make test-litellm-report -->\n", "<!-- end of report -->\n"


def openai_chat(endpoint: Endpoint) -> LlmAdapter:
    return adapter(endpoint, "openai")


def anthropic_messages(endpoint: Endpoint) -> LlmAdapter:
    return adapter(endpoint, "anthropic")


def adapter(endpoint: Endpoint, provider: str) -> LlmAdapter:
    return LiteLlmAdapter(
        LiteLlmOptions(
            provider=provider, base_url=endpoint.base_url, api_key=endpoint.api_key, timeouts=endpoint.timeouts
        )
    )


WIRES = {"openai-chat": openai_chat, "anthropic-messages": anthropic_messages}


def main() -> int:
    reports = {wire: asyncio.run(check_adapter(factory, wire)) for wire, factory in WIRES.items()}
    for report in reports.values():
        print(table(report))
    for wire, report in reports.items():
        for failure in report.failures:
            print(f"{wire} {failure.rule} {failure.name}: {failure.detail[:400]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
