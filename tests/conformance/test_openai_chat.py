"""The adapter of any chat-completions host, judged by the kit that any adapter is judged by."""

from collections.abc import Callable

import pytest

from conformance import factories


@pytest.mark.limen_adapter(factories.openai_chat, wire="openai-chat")
def test_contract(conformance_rule: Callable[[], None]) -> None:
    """Every rule that an adapter can keep is kept, without exemptions."""
    conformance_rule()


@pytest.mark.limen_adapter(factories.openai, wire="openai-chat")
def test_contract_of_the_openai_row(conformance_rule: Callable[[], None]) -> None:
    """The same for OpenAI's own row."""
    conformance_rule()
