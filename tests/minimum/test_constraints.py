"""The least versions that are tested are the ones that pyproject.toml states."""

from pathlib import Path

import pytest

from minimum.constraints import constraint, constraints

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("msgspec>=0.20", "msgspec==0.20"),
        ("name[extra]>=1.2,<3", "name==1.2"),
        ("name < 3, >= 1.2.post1", "name==1.2.post1"),
        ('name>=1.2; python_version < "3.12"', 'name==1.2; python_version < "3.12"'),
    ],
)
def test_a_bound_becomes_a_pin(requirement: str, expected: str) -> None:
    """The least version of a requirement is pinned, and its marker stays."""
    assert constraint(requirement) == expected


@pytest.mark.parametrize("requirement", ["name", "name<3", "name==", "name @ https://example.test/name.whl"])
def test_a_requirement_without_a_least_version_is_refused(requirement: str) -> None:
    """A dependency without a least version cannot be tested at it, so it is an error."""
    with pytest.raises(ValueError, match="no least version in 'name"):
        constraint(requirement)


def test_every_extra_but_the_developers_is_pinned() -> None:
    """Dependencies and extras are pinned once each; references to own extras and the developers' tools are not."""
    text = """
[project]
name = "limen"
dependencies = ["b>=2", "a>=1"]

[project.optional-dependencies]
one = ["c>=3", "a>=1"]
both = ["limen[one]", "d>=4"]
dev = ["limen[both]", "e>=5"]
"""

    assert constraints(text) == ["a==1", "b==2", "c==3", "d==4"]


def test_every_dependency_states_its_least_version() -> None:
    """Each dependency and extra of this project has a least version, msgspec among them."""
    pinned = constraints(PYPROJECT.read_text(encoding="utf-8"))

    assert [line for line in pinned if "==" not in line] == []
    assert any(line.startswith("msgspec==") for line in pinned)
