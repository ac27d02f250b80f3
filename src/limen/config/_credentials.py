"""Credential sources: environment variables, files and the keyring, asked once per call (K7)."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from limen.contract import LlmError, codes, foreign_text, remember_secret

# A key is a line; a file that holds more is some other file.
MAX_KEY_BYTES: Final = 16 * 1024


class EnvironmentKey(msgspec.Struct, frozen=True):
    """A key in the first of these environment variables that is set; blank counts as not set.

    `place` says, for messages, where the variable was named.
    """

    variables: Sequence[str]
    place: str = ""

    @property
    def reference(self) -> str:
        """The variables by name."""
        plural = "s" if len(self.variables) > 1 else ""
        return f"the environment variable{plural} {' or '.join(self.variables)}{_named(self.place)}"

    async def api_key(self) -> str | None:
        """Return the variable's value as it is now."""
        for name in self.variables:
            value = os.environ.get(name, "")
            if value.strip():
                return value
        return None


class FileKey(msgspec.Struct, frozen=True):
    """A key that is the content of a file, such as a container's secret."""

    file: Path
    place: str = ""

    @property
    def reference(self) -> str:
        """The file's path."""
        return f"the file {self.file}{_named(self.place)}"

    async def api_key(self) -> str | None:
        """Return the file's content as it is now; no file and an empty file count as no key.

        Raises `MISSING_CREDENTIAL` for a file that cannot be read, `INVALID_CREDENTIAL` for one that holds no text.
        """
        import asyncio

        found = await asyncio.to_thread(self._read)
        if isinstance(found, LlmError):
            raise found
        return found if found.strip() else None

    def _read(self) -> "str | LlmError":
        try:
            with self.file.open("rb") as stream:
                raw = stream.read(MAX_KEY_BYTES + 1)
        except FileNotFoundError:
            return ""
        except OSError as error:
            words = error.strerror or type(error).__name__
            return _fault(f"{self.reference} cannot be read: {words}", codes.MISSING_CREDENTIAL)
        if len(raw) > MAX_KEY_BYTES:
            return _fault(f"{self.reference} is too large to be a key", codes.INVALID_CREDENTIAL)
        text = raw.decode("utf-8-sig", "replace")
        remember_secret(text.strip())
        if "\N{REPLACEMENT CHARACTER}" in text:
            return _fault(f"{self.reference} is not text", codes.INVALID_CREDENTIAL)
        return text


class KeyringKey(msgspec.Struct, frozen=True):
    """A key kept by the operating system's keyring; needs the extra `limen[keyring]`."""

    service: str
    username: str
    place: str = ""

    @property
    def reference(self) -> str:
        """The keyring entry's name."""
        return f"the keyring entry {self.service}/{self.username}{_named(self.place)}"

    async def api_key(self) -> str | None:
        """Ask the keyring; `MISSING_CREDENTIAL` where there is none to ask."""
        import asyncio

        found = await asyncio.to_thread(self._ask)
        if isinstance(found, LlmError):
            raise found
        return found

    def _ask(self) -> "str | LlmError | None":
        try:
            import keyring
        except ImportError:
            words = f"{self.reference} cannot be read: install limen[keyring], or use api_key_env or api_key_file"
            return _fault(words, codes.MISSING_CREDENTIAL)
        try:
            return keyring.get_password(self.service, self.username)
        except Exception as error:  # noqa: BLE001 - a keyring backend raises whatever its system raises
            return _fault(f"{self.reference} cannot be read: {foreign_text(error)}", codes.MISSING_CREDENTIAL)


def _named(place: str) -> str:
    return f" ({place})" if place else ""


def _fault(words: str, code: str) -> LlmError:
    return LlmError(words, code, phase="resolve")
