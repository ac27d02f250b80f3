"""Environment of a test: nobody's keys, addresses and proxies, and a provider on this machine in their place."""

import os

import pytest

from limen.testing.server import MockProvider

KEY = "not-a-real-key"
ROUTES = {"DEEPSEEK": "openai-chat", "OPENAI": "openai-chat", "ANTHROPIC": "anthropic-messages"}


def without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every key, address and proxy out of the environment."""
    for name in list(os.environ):
        if name.endswith(("_KEY", "_TOKEN", "_BASE_URL")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


def with_routes(monkeypatch: pytest.MonkeyPatch, provider: MockProvider) -> None:
    """Make the provider three routes of an otherwise empty environment."""
    without_keys(monkeypatch)
    for name, wire in ROUTES.items():
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
        monkeypatch.setenv(f"{name}_BASE_URL", provider.base_url(wire))
