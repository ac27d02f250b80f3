"""The judge must be able to fail: each check catches an adapter that breaks what it is about."""

import asyncio

import pytest

from limen.testing.conformance import CHECKS, Report, check_adapter
from testing._bent import good, good_anthropic
from testing._seeds import ON_ANTHROPIC, SEEDS, SLOW


def judged(name: str) -> Report:
    wire = "anthropic-messages" if name in ON_ANTHROPIC else "openai-chat"
    return asyncio.run(check_adapter(SEEDS[name], wire, names=[name]))


QUICK = sorted(set(SEEDS) - SLOW)


@pytest.mark.parametrize("name", QUICK)
def test_each_check_catches_its_violation(name: str) -> None:
    """The check fails for an adapter that was broken in just this way, and says so under its rule."""
    (result,) = judged(name).results

    assert (result.verdict, result.rule) == ("fail", CHECKS[name].rule), result
    assert not result.detail.startswith(("TypeError", "AttributeError", "NameError", "KeyError")), result.detail


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SLOW))
def test_each_check_catches_its_violation_by_patience(name: str) -> None:
    """The same for checks that must wait to find out."""
    (result,) = judged(name).results

    assert (result.verdict, result.rule) == ("fail", CHECKS[name].rule), result


def test_every_check_has_a_violation() -> None:
    """No check exists that nothing was shown to fail."""
    assert set(SEEDS) == set(CHECKS)


@pytest.mark.parametrize(("factory", "wire"), [(good, "openai-chat"), (good_anthropic, "anthropic-messages")])
def test_what_was_bent_is_good(factory: object, wire: str) -> None:
    """The adapters that the violations are made of keep every basic promise."""
    report = asyncio.run(check_adapter(good if factory is good else good_anthropic, wire, basics=True))

    assert [result for result in report.results if result.verdict != "pass"] == []
