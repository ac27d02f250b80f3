"""Bedrock's adapter, judged by the kit that any adapter is judged by."""

from collections.abc import Callable

import pytest

from conformance import factories


@pytest.mark.limen_adapter(factories.bedrock, wire="bedrock-converse")
def test_contract(conformance_rule: Callable[[], None]) -> None:
    """Every rule that an adapter can keep is kept, without exemptions."""
    conformance_rule()
