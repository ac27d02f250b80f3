"""API keys as an adapter sees them: their source, and the check of their form."""

from typing import Protocol, runtime_checkable

from limen.contract import _codes as codes
from limen.contract._errors import LlmError
from limen.contract._redact import remember_header, remember_secret


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


class Secret(str):
    """Text that holds a key: an ordinary string whose repr is masked.

    Error trackers print the local variables of every frame of a traceback by their repr, so a key or a header with
    one is held in this type wherever a frame may raise (E5).
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "Secret(…)"


class StaticCredential:
    """Key given in code, kept out of every repr (E5)."""

    __slots__ = ("_key",)

    reference = "the api_key that was passed"

    def __init__(self, key: str) -> None:
        self._key = Secret(key)

    async def api_key(self) -> str | None:
        """Return the key; blank counts as none."""
        return self._key if self._key.strip() else None

    def __repr__(self) -> str:
        return "StaticCredential(…)"


def clean_key(key: str, reference: str) -> Secret:
    """Return the key trimmed, and remember it for scrubbing (E5).

    Raises `INVALID_CREDENTIAL`, naming the reference and no part of the key, unless it is printable ASCII without
    spaces (K3).
    """
    secret = Secret(key.strip())
    # Neither this frame nor what is chained to the error may show the key.
    del key
    remember_secret(secret)
    if not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise LlmError(
            f"the key from {reference} cannot be sent: a key is printable ASCII without spaces; set it again",
            codes.INVALID_CREDENTIAL,
            phase="resolve",
        )
    return secret


def clean_header(value: str, reference: str) -> Secret:
    """Return a header's secret value trimmed, and remember it for scrubbing (E5).

    Unlike a key it may hold spaces, as in `Bearer abc` and in cookies. Raises `INVALID_CREDENTIAL`, naming the
    reference and no part of the value, unless it is printable ASCII.
    """
    secret = Secret(value.strip())
    del value
    remember_header(secret)
    if not secret or not secret.isascii() or not secret.isprintable():
        raise LlmError(
            f"the header's value from {reference} cannot be sent: it is one line of printable ASCII; set it again",
            codes.INVALID_CREDENTIAL,
            phase="resolve",
        )
    return secret
