"""Credential sources: asked once per call, so that what changed in between is seen (K7)."""

import os
import sys
from pathlib import Path

import keyring
import keyring.backend
import pytest

from limen.config import EnvironmentKey, FileKey, KeyringKey
from limen.contract import LlmError, scrub

PLACE = "api_key_env of [routes.a]"


async def test_a_variable_is_read_at_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first variable that is set gives the key, as it is now; blank counts as not set (K4, K7)."""
    source = EnvironmentKey(("LIMEN_TEST_A", "LIMEN_TEST_B"))
    found = [await source.api_key()]
    for name, value in (("LIMEN_TEST_B", "key-b"), ("LIMEN_TEST_A", " "), ("LIMEN_TEST_A", "key-a")):
        monkeypatch.setenv(name, value)
        found.append(await source.api_key())

    assert found == [None, "key-b", "key-b", "key-a"]


async def test_a_file_is_read_at_every_call(tmp_path: Path) -> None:
    """A rotated secret is used by the next call; a missing and an empty file are no key (K4, K7)."""
    file = tmp_path / "key"
    source = FileKey(file)
    found = [await source.api_key()]
    for content in (b"\n", b"rotated-key-01\n", b"\xef\xbb\xbfrotated-key-02"):
        file.write_bytes(content)
        found.append(await source.api_key())

    assert found == [None, None, "rotated-key-01\n", "rotated-key-02"]


async def test_files_that_are_no_key(tmp_path: Path) -> None:
    """A folder, a giant and binary data are refused, naming the file and nothing of its content (K3)."""
    binary, giant = tmp_path / "binary", tmp_path / "giant"
    binary.write_bytes(b"canary\xff")
    giant.write_bytes(b"canary" * 4000)
    found: list[tuple[str, str]] = []
    for file in (tmp_path, binary, giant):
        with pytest.raises(LlmError) as caught:
            await FileKey(file, PLACE).api_key()
        found.append((caught.value.code, caught.value.failure.message))

    assert found == [
        ("MISSING_CREDENTIAL", f"the file {tmp_path} ({PLACE}) cannot be read: Is a directory"),
        ("INVALID_CREDENTIAL", f"the file {binary} ({PLACE}) is not text"),
        ("INVALID_CREDENTIAL", f"the file {giant} ({PLACE}) is too large to be a key"),
    ]


async def test_a_key_that_was_read_is_scrubbed_from_then_on(tmp_path: Path) -> None:
    """What a file held is known as a secret at once, whatever becomes of the call (E5)."""
    file = tmp_path / "key"
    file.write_text("an unusual key\n", encoding="utf-8")
    await FileKey(file).api_key()

    assert scrub("it was 'an unusual key'.") == "it was '[redacted]'."


class Ring(keyring.backend.KeyringBackend):
    """A keyring of one entry, which fails for another."""

    priority = 1.0  # pyright: ignore[reportAssignmentType, reportUnannotatedClassAttribute] - the library's own way

    def __init__(self) -> None:
        """Need nothing of the system."""

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep nothing."""

    def get_password(self, service: str, username: str) -> str | None:
        """Return the entry's key."""
        if username == "broken":
            raise RuntimeError("the keyring is locked; sk-canary-0123456789abcdef")
        return "ring-key" if (service, username) == ("limen", "me") else None


async def test_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keyring's entry is the key; a keyring that fails says so, scrubbed (K7, E5)."""
    before = keyring.get_keyring()
    keyring.set_keyring(Ring())
    try:
        found = [await KeyringKey("limen", "me").api_key(), await KeyringKey("limen", "you").api_key()]
        with pytest.raises(LlmError) as caught:
            await KeyringKey("limen", "broken").api_key()
    finally:
        keyring.set_keyring(before)

    assert found == ["ring-key", None]
    assert (caught.value.code, caught.value.failure.message) == (
        "MISSING_CREDENTIAL",
        "the keyring entry limen/broken cannot be read: the keyring is locked; [redacted]",
    )


async def test_a_keyring_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the call fails with what to install (K4)."""
    monkeypatch.setitem(sys.modules, "keyring", None)

    with pytest.raises(LlmError) as caught:
        await KeyringKey("limen", "me", "api_key_keyring of [routes.a]").api_key()

    assert (caught.value.code, caught.value.failure.message) == (
        "MISSING_CREDENTIAL",
        "the keyring entry limen/me (api_key_keyring of [routes.a]) cannot be read: install limen[keyring], "
        "or use api_key_env or api_key_file",
    )


def test_references_and_reprs_hold_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source says where a key is in words that may be shown, and nothing else (K3, E5)."""
    monkeypatch.setenv("LIMEN_TEST_A", "canary-key")
    sources = (EnvironmentKey(("LIMEN_TEST_A", "B"), PLACE), FileKey(Path("/run/key")), KeyringKey("limen", "me"))

    assert [source.reference for source in sources] == [
        f"the environment variables LIMEN_TEST_A or B ({PLACE})",
        "the file /run/key",
        "the keyring entry limen/me",
    ]
    assert os.environ["LIMEN_TEST_A"] not in repr(sources)
