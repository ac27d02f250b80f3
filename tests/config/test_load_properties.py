"""Whatever a configuration holds, it is taken whole or refused as `INVALID_CONFIG`; nothing else is raised (K5)."""

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from limen.config import Config, load
from limen.config._schema import ModelTable, RouteTable
from limen.contract import Limits, LlmError, RetryPolicy, Timeouts

CANARY = "sk-canary-0123456789abcdef"

# Values that a field of the schema takes, and values that it does not.
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["deepseek", "https://h/v1", "http://h", "normal", "always", "text", "TIMEOUT", "a/b", "KEY", ""])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def table(
    kind: type[RouteTable | ModelTable | Timeouts | Limits | RetryPolicy],
) -> st.SearchStrategy[dict[str, object]]:
    """Tables whose keys are mostly those of the schema."""
    return st.dictionaries(st.sampled_from(kind.__struct_fields__) | st.text(max_size=8), VALUES, max_size=4)


ROUTES = st.builds(
    lambda fields, models, timeouts, limits, retry: {
        "adapter": "deepseek",
        **fields,
        **({"models": models} if models else {}),
        **({"timeouts": timeouts} if timeouts else {}),
        **({"limits": limits} if limits else {}),
        **({"retry": retry} if retry else {}),
    },
    table(RouteTable),
    st.lists(table(ModelTable), max_size=2),
    table(Timeouts),
    table(Limits),
    table(RetryPolicy),
)
DOCUMENTS = st.fixed_dictionaries(
    {"routes": st.dictionaries(st.text(max_size=10), ROUTES | VALUES, max_size=3) | VALUES},
    optional={"app": VALUES, "other": VALUES},
)


def outcome(source: object) -> Config | LlmError:
    """Load it: a configuration, or the refusal."""
    try:
        return load(source)
    except LlmError as error:
        refused = error
    assert (refused.code, refused.__cause__) == ("INVALID_CONFIG", None)
    return refused


@given(document=DOCUMENTS)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_document_is_taken_or_refused(document: dict[str, object]) -> None:
    """Values of any type in any place give a configuration or one refusal."""
    outcome(document)


@given(route=ROUTES, place=st.sampled_from(RouteTable.__struct_fields__))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_key_in_any_place_is_never_shown(route: dict[str, object], place: str) -> None:
    """A key written into any field of a route is refused, or not there to be shown (K1, E5)."""
    found = outcome({"routes": {"a": {**route, place: CANARY}}})

    assert isinstance(found, LlmError)
    assert "canary" not in f"{found} {found!r}"


VALID = """
[app]
name = "my-app/1.0"

[routes.work]
adapter = "openai-chat"   # a comment
dialect = "openrouter"
base_url = "https://router.example/v1"
api_key_file = '/run/secrets/router'
headers = { X-Title = "limen" }
timeouts = { connect = 10, first_event = 600.5 }
retry = { codes = ["TIMEOUT"], jitter = 0.5 }
[[routes.work.models]]
id = '''some/model'''
efforts = [
  "off",
  { id = "high", name = "High" },
]
"""


@pytest.mark.parametrize("seed", range(150))
def test_damaged_files(tmp_path: Path, seed: int) -> None:
    """A file with bytes lost, changed or doubled gives a configuration, or a refusal that names the file."""
    chance = random.Random(seed)
    raw = bytearray(VALID.encode())
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(raw))
        match chance.randrange(3):
            case 0:
                del raw[at : at + chance.randint(1, 20)]
            case 1:
                raw[at] = chance.randrange(256)
            case _:
                raw[at:at] = raw[at : at + chance.randint(1, 20)]
    file = tmp_path / "limen.toml"
    file.write_bytes(raw)

    found = outcome(file)

    assert isinstance(found, Config) or found.failure.message.startswith(f"{file}:")
