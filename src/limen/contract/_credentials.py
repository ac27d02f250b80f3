"""API keys as an adapter sees them: their source, and the check of their form."""

from typing import Protocol, runtime_checkable

from limen.contract import _codes as codes
from limen.contract._errors import LlmError
from limen.contract._redact import remember_secret


class CredentialSource(Protocol):
    """Source of a key, asked once per call, so that the next call uses a rotated key (K7).

    `reference` names the place for messages ("the environment variable DEEPSEEK_API_KEY") and holds no part of a
    key. `api_key()` returns the key, or `None` where the place holds none; it may raise `LlmError`.
    """

    @property
    def reference(self) -> str:
        """Name of the place, without any part of the key."""
        ...

    async def api_key(self) -> str | None:
        """Return the key, or `None` where there is none."""
        ...


@runtime_checkable
class ValueSource(Protocol):
    """Source of a credential that is no string, such as the keys that sign a request; asked once per call (K7).

    `credential()` returns a value of the type that the codec names; it may raise `LlmError`.
    """

    @property
    def reference(self) -> str:
        """The place, in words that may be shown."""
        ...

    async def credential(self) -> object:
        """Return the credential."""
        ...


class StaticCredential:
    """Key given in code, kept out of every repr (E5)."""

    __slots__ = ("_key",)

    reference = "the api_key that was passed"

    def __init__(self, key: str) -> None:
        self._key = key

    async def api_key(self) -> str | None:
        """Return the key; blank counts as none."""
        return self._key if self._key.strip() else None

    def __repr__(self) -> str:
        return "StaticCredential(…)"


def clean_key(key: str, reference: str) -> str:
    """Return the key trimmed, and remember it for scrubbing (E5).

    Raises `INVALID_CREDENTIAL`, naming the reference and no part of the key, unless it is printable ASCII without
    spaces (K3).
    """
    trimmed = key.strip()
    remember_secret(trimmed)
    if not trimmed or not trimmed.isascii() or not trimmed.isprintable() or " " in trimmed:
        raise LlmError(
            f"the key from {reference} cannot be sent: a key is printable ASCII without spaces; set it again",
            codes.INVALID_CREDENTIAL,
            phase="resolve",
        )
    return trimmed
