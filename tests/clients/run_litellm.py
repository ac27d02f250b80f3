"""The adapter around `litellm` before the judge, on both wires.

Run by `make test-litellm`, in an environment of its own. Every finding must be explained as the library's in
`litellm-findings.toml`, and every explanation must still be needed: otherwise it exits 1. With `--write` the report on
the adapter's page is renewed.
"""

import asyncio
import importlib
import os
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

from limen.adapters.library import LiteLlmAdapter, LiteLlmOptions
from limen.contract import LlmAdapter
from limen.testing.conformance import Endpoint, Report, check_adapter

PAGE = Path(__file__).parents[2] / "docs" / "adapters-litellm.md"
BEGIN, END = "<!-- report: make litellm-report -->\n", "<!-- end of the report -->\n"

CHAT, MESSAGES = "openai-chat", "anthropic-messages"
FINDINGS = tomllib.loads((Path(__file__).parent / "litellm-findings.toml").read_text(encoding="utf-8"))["finding"]
# Of what the judge says so much stands on the page.
SHOWN = 150


def openai_chat(endpoint: Endpoint) -> LlmAdapter:
    return adapter(endpoint, "openai")


def anthropic_messages(endpoint: Endpoint) -> LlmAdapter:
    return adapter(endpoint, "anthropic")


def adapter(endpoint: Endpoint, provider: str) -> LlmAdapter:
    options = LiteLlmOptions(
        provider=provider, base_url=endpoint.base_url, api_key=endpoint.api_key, timeouts=endpoint.timeouts
    )
    return LiteLlmAdapter(options)


def main() -> int:
    # Importing the library takes seconds, which no check waits for.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    importlib.import_module("litellm")
    factories = {CHAT: openai_chat, MESSAGES: anthropic_messages}
    reports = {wire: asyncio.run(check_adapter(factory, wire)) for wire, factory in factories.items()}
    lines = [summary(wire, report) for wire, report in reports.items()]
    print("\n".join(lines))
    if "--write" in sys.argv:
        write(reports, lines)
    return verdict(reports)


def summary(wire: str, report: Report) -> str:
    words = ("pass", "fail", "n/a")
    passed, failed, rest = (sum(result.verdict == word for result in report.results) for word in words)
    return f"{wire}: {passed} passed, {failed} not, {rest} not applicable"


def verdict(reports: dict[str, Report]) -> int:
    """Compare what the judge found with what is explained."""
    found = details(reports)
    explained = {(one["rule"], one["check"], wire) for one in FINDINGS for wire in one["wires"]}
    for finding in sorted(found.keys() - explained):
        print(f"not explained: {' '.join(finding)}: {found[finding][:500]}")
    for finding in sorted(explained - found.keys()):
        print(f"explained, and holds now: {' '.join(finding)}")
    return 1 if found.keys() ^ explained else 0


def details(reports: dict[str, Report]) -> dict[tuple[str, str, str], str]:
    return {(one.rule, one.name, wire): one.detail for wire, report in reports.items() for one in report.failures}


def write(reports: dict[str, Report], lines: list[str]) -> None:
    """Renew the report on the page."""
    found = details(reports)
    rows = ["| rule | check | on | why | found |", "|---|---|---|---|---|"]
    for one in FINDINGS:
        rule, name, wires, why = (one[key] for key in ("rule", "check", "wires", "why"))
        told = " ".join(found.get((rule, name, wires[0]), "").split()).replace("|", "/")
        told = told if len(told) <= SHOWN else f"{told[:SHOWN]}…"
        rows.append(f"| {rule} | {name} | {'both' if len(wires) > 1 else wires[0]} | {why} | `{told}` |")
    report = [f"litellm {version('litellm')}:", "", *(f"- {line}" for line in lines), "", *rows, ""]
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + "\n".join(report) + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
