"""A configuration never holds a key, and no message shows one that was written into it (K1, E5)."""

from pathlib import Path

import pytest

from limen.config import load
from limen.contract import LlmError

CANARY = "sk-canary-0123456789abcdef"
PLAIN_CANARY = "canarykey0123"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"[routes.a]\nadapter = 'x'\napi_key = '{PLAIN_CANARY}'", "3: routes.a.api_key - "),
        (f"[routes.a]\nadapter = 'x'\nAPI-Key = '{PLAIN_CANARY}'", "3: routes.a.API-Key - "),
        (f"[routes.a]\nadapter = 'x'\ntoken = '{PLAIN_CANARY}'", "3: routes.a.token - "),
        (f"[routes.a]\nadapter = 'x'\noptions.secret = '{PLAIN_CANARY}'", "3: routes.a.options.secret - "),
        (f"[routes.a]\nadapter = 'x'\noptions.list = [1, '{CANARY}']", "3: routes.a.options.list[1] - "),
        (
            f"[routes.a]\nadapter = 'x'\nheaders.Authorization = '{PLAIN_CANARY}'",
            "3: routes.a.headers.Authorization - ",
        ),
        (f"[routes.a]\nadapter = 'x'\nheaders.x-api-key = '{PLAIN_CANARY}'", "3: routes.a.headers.x-api-key - "),
        (
            f"[routes.a]\nadapter = 'x'\nheaders.CF-AIG-Authorization = '{PLAIN_CANARY}'",
            "3: routes.a.headers.CF-AIG-Authorization - ",
        ),
        (f"[routes.a]\nadapter = 'x'\nheaders.X-My-Token = '{PLAIN_CANARY}'", "3: routes.a.headers.X-My-Token - "),
        (f"[routes.a]\nadapter = 'x'\nheaders.X-Other = 'Bearer {PLAIN_CANARY}'", "3: routes.a.headers.X-Other - "),
        (f"[routes.a]\nadapter = 'x'\nbase_url = 'https://u:{PLAIN_CANARY}@h'", "3: routes.a.base_url - "),
        (f"[routes.a]\nadapter = 'x'\nbase_url = 'https://h/?api_key={PLAIN_CANARY}'", "3: routes.a.base_url - "),
        (f"[routes.a]\nadapter = 'x'\napi_key_env = '{CANARY}'", "3: routes.a.api_key_env - "),
        (f"[routes.a]\nadapter = 'x'\napi_key_env = '{PLAIN_CANARY}4567'", "3: routes.a.api_key_env - "),
        (f"[routes.a]\nadapter = 'x'\napi_key_env = 'two words {PLAIN_CANARY}'", "3: routes.a.api_key_env - "),
        (f"[routes.a]\nadapter = 'x'\napi_key_file = '{CANARY}'", "3: routes.a.api_key_file - "),
        (f"[routes.a]\nadapter = '{CANARY}'", "2: routes.a.adapter - "),
        (f"[routes.{CANARY}]\nadapter = 'x'", "1: routes - "),
        (f"api_key = '{PLAIN_CANARY}'", "1: api_key - "),
    ],
)
def test_a_literal_key_is_refused_and_not_echoed(tmp_path: Path, text: str, place: str) -> None:
    """A key in the file is an error that names its place, says what to do, and holds no part of it (K1)."""
    file = tmp_path / "limen.toml"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(LlmError) as caught:
        load(file)

    message = caught.value.failure.message
    assert message.startswith(f"{file}:{place}")
    assert 'write api_key_env = "' in message
    assert "canary" not in f"{message} {caught.value!r} {caught.value.failure!r}"
    assert (caught.value.__context__, caught.value.__cause__) == (None, None)


def test_a_syntax_error_beside_a_key_does_not_show_it(tmp_path: Path) -> None:
    """A file that is no TOML is refused without a word of what stands in it (E5)."""
    file = tmp_path / "limen.toml"
    file.write_text(f"[routes.a]\napi_key = {CANARY}\n", encoding="utf-8")

    with pytest.raises(LlmError) as caught:
        load(file)

    assert caught.value.failure.message == f"{file}:2: this is not TOML: Invalid value"
    assert caught.value.__context__ is None


@pytest.mark.parametrize("path", ["/run/secrets/key-of-production-mail", "~/sk-provider-production-1"])
def test_a_path_may_look_like_anything(path: str) -> None:
    """The words of a path are no key: `/run/secrets/key-of-…` is where one is (K1)."""
    assert load({"routes": {"a": {"adapter": "x", "api_key_file": path}}}).routes[0].credential is not None
