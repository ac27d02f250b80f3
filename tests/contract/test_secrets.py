"""E5, K3: keys are remembered and looked for by shape; one that cannot be sent is refused by its place alone."""

import json
from collections.abc import Callable
from urllib.parse import quote_plus

import pytest

from limen.contract import (
    MASK,
    LlmError,
    StaticCredential,
    clean_header,
    clean_key,
    codes,
    looks_secret,
    names_secret,
    remember_header,
    remember_secret,
    scrub,
)


@pytest.mark.parametrize(
    "text",
    [
        "Bearer abcdef123456",
        "authorization: basic dXNlcjpwYXNz",
        "bearer%20abcdef123456",
        "sk-0123456789abcdef",
        "sk-ant-api03-abcdefghijkl",
        "gsk_abcdefghijklmnop",
        "AIzaSyA0123456789abcdefghijklmnopqrstuv",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_abcdefghijklmnopqrstuvwxyz",
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4",
        'api_key="hunter2hunter2"',
        "?api-key=hunter2hunter2&x=1",
        '"client_secret": "hunter2hunter2"',
        "https://user:hunter2@proxy.test:8080",
    ],
)
def test_what_looks_like_a_credential_is_masked(text: str) -> None:
    """E5: every shape of a credential is replaced; scrubbing twice changes nothing more."""
    assert looks_secret(text)
    found = scrub(f"before {text} after")

    assert MASK in found
    assert found.startswith("before ")
    assert found.endswith(" after")
    assert scrub(found) == found
    for secret in ("abcdef", "0123456789", "hunter2", "dXNlcjpwYXNz", "IOSFODNN7EXAMPLE", "SflKx"):
        assert secret not in found


@pytest.mark.parametrize(
    "text", ["the key is wrong", "sk-short", "monkey-business-is-not-one!", "a bearer of bad news", "max_tokens=4096"]
)
def test_ordinary_words_stay(text: str) -> None:
    """E5: a message that holds no credential reads as it was."""
    assert scrub(text) == text
    assert not looks_secret(text)


def test_a_remembered_key_is_masked_wherever_it_occurs() -> None:
    """E5: a key of no known shape is replaced once it passed, also in its form for a URL, the longer one first."""
    remember_secret("odd/key value")
    remember_secret("odd/key value and more")

    assert scrub("x odd/key value and more y") == f"x {MASK} y"
    assert scrub("x odd%2Fkey%20value y") == f"x {MASK} y"


def twice(key: str) -> str:
    """JSON in a string of JSON."""
    return json.dumps(json.dumps(key))


@pytest.mark.parametrize("written", [str, repr, json.dumps, twice, quote_plus])
def test_a_remembered_key_is_masked_however_it_is_quoted(written: Callable[[str], str]) -> None:
    """E5: a key with quotes, backslashes and slashes is found in JSON, in JSON of JSON, in a repr and in a URL."""
    key = 'k"1\\2/3+4\\"5'
    remember_secret(key)

    assert scrub(f"before {written(key).strip(chr(34))} after").count(MASK) == 1
    assert scrub(json.dumps(key).replace("/", "\\/")) == f'"{MASK}"'
    assert "1" not in scrub(written(key))


def test_very_short_keys_are_not_remembered() -> None:
    """E5: replacing a letter everywhere would garble every message."""
    remember_secret("abc")
    remember_secret("      ")

    assert scrub("abc      ") == "abc      "


def test_the_oldest_key_is_forgotten_first() -> None:
    """E5: memory of keys is bounded, and the newest ones are in it."""
    remember_secret("the-very-first-key")
    for number in range(600):
        remember_secret(f"rotated key {number}")

    assert scrub("the-very-first-key") == "the-very-first-key"
    assert scrub("rotated key 599") == MASK


def test_a_key_that_is_still_used_is_not_forgotten() -> None:
    """E5: each use of a key makes it the newest, so a key that is in use outlives those that were rotated away."""
    for number in range(600):
        remember_secret(f"rotated again {number}")
        remember_secret("the-key-in-use")

    assert scrub("the-key-in-use") == MASK


@pytest.mark.parametrize(("key", "clean"), [("k-!~-key", "k-!~-key"), ("  k-padded\n", "k-padded"), ("!", "!")])
def test_a_key_is_trimmed(key: str, clean: str) -> None:
    """K3, H100: white space around a key is dropped; the boundary characters are legal."""
    assert clean_key(key, "the test") == clean


@pytest.mark.parametrize(
    "key", ["", "   ", "\t", "two words", "schlüssel", "🔑🔑🔑🔑", "Ａｂｃｄ", "line\nbreak", "nul\x00nul"]
)
def test_a_key_that_no_header_can_carry(key: str) -> None:
    """K3, H101, H103: refused with the place that it came from, and no part of it."""
    with pytest.raises(LlmError) as caught:
        clean_key(key, "the environment variable X")

    assert caught.value.code == codes.INVALID_CREDENTIAL
    assert caught.value.failure.message == (
        "the key from the environment variable X cannot be sent: a key is printable ASCII without spaces; set it again"
    )


def test_a_refused_key_is_remembered_all_the_same() -> None:
    """E5: a key that cannot be sent is still a key, and is masked from then on."""
    with pytest.raises(LlmError):
        clean_key("refused key 77", "the test")

    assert scrub("refused key 77") == MASK


async def test_a_key_given_in_code() -> None:
    """K7: it is kept out of the repr; a blank one is none."""
    source = StaticCredential("sk-0123456789abcdef")

    assert await source.api_key() == "sk-0123456789abcdef"
    assert await StaticCredential("  ").api_key() is None
    assert (repr(source), source.reference) == ("StaticCredential(…)", "the api_key that was passed")


@pytest.mark.parametrize("written", [str, repr, ascii, json.dumps, twice, lambda key: key.replace("\udc80", "\ufffd")])
def test_a_key_that_is_no_unicode_is_masked(written: Callable[[str], str]) -> None:
    """A key with half a surrogate, as an environment may hold one, is remembered in every form that shows it (E5)."""
    key = "canary/\udc80\u00fc\N{PILE OF POO}-key"
    with pytest.raises(LlmError) as caught:
        clean_key(key, "the test")

    assert caught.value.code == codes.INVALID_CREDENTIAL
    assert "canary" not in scrub(f"before {written(key)} after")


@pytest.mark.parametrize(
    ("name", "field", "header"),
    [
        ("Authorization", True, True),
        ("CF-AIG-Authorization", True, True),
        ("x-gateway-token", True, True),
        ("Cookie", True, True),
        ("Ocp-Apim-Subscription-Key", True, True),
        ("X-Gateway-Key", False, True),
        ("cache_key", False, True),
        ("Idempotency-Key", False, False),
        ("max_tokens", False, False),
        ("X-Title", False, False),
    ],
)
def test_names_that_hold_a_secret(name: str, field: bool, header: bool) -> None:
    """One list of names serves configuration and requests; headers named like a key hold one (K1, E5)."""
    assert (names_secret(name), names_secret(name, header=True)) == (field, header)


def test_parts_of_a_header_are_masked() -> None:
    """The key behind a scheme and each cookie's value are remembered, not the words around them (E5)."""
    remember_header("Bearer part/0123; theme=dark")
    remember_header("session=part/4567")

    assert scrub("part/0123 part/4567 Bearer dark") == f"{MASK} {MASK} Bearer dark"


@pytest.mark.parametrize("value", ["Bearer abc/0123", " a=b; c=d\n"])
def test_a_secret_header_may_hold_spaces(value: str) -> None:
    """A header's value is trimmed, printable ASCII, and hidden in a repr (K3, E5)."""
    found = clean_header(value, "the test")

    assert (found, repr(found)) == (value.strip(), "Secret(\N{HORIZONTAL ELLIPSIS})")


@pytest.mark.parametrize("value", ["", "two\nlines", "schl\u00fcssel/0123", "half\udc80/0123"])
def test_a_secret_header_that_cannot_be_sent(value: str) -> None:
    """It is refused with its place and no part of it (K3)."""
    with pytest.raises(LlmError) as caught:
        clean_header(value, "the test")

    assert str(caught.value) == (
        "INVALID_CREDENTIAL: the header's value from the test cannot be sent: it is one line of printable ASCII; "
        "set it again"
    )
