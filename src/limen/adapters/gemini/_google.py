"""Google's credentials as a credential source: access tokens from google-auth, renewed off the call's path.

Needs the extra `limen[vertex]`. Source: https://google-auth.readthedocs.io (2.x, read 2026-11-30). google-auth itself
looks for the application's default credentials: a file that `GOOGLE_APPLICATION_CREDENTIALS` names, the login of
gcloud, the machine's metadata server.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from datetime import UTC
from importlib import import_module
from typing import Final, Protocol

from limen.contract import LlmError, codes, foreign_text, remember_secret

SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
# Before its end a token still serves calls while a new one is fetched; nearer than the last minute it does not.
_RENEW_S: Final = 300.0
_LEAST_S: Final = 60.0
_REQUEST_TIMEOUT_S: Final = 10.0


class Token(Protocol):
    """google-auth's credentials, as far as they are used here."""

    @property
    def token(self) -> object:
        """The access token, once there is one."""
        ...

    @property
    def expiry(self) -> object:
        """The time at which it ends, in UTC."""
        ...

    def refresh(self, request: object) -> None:
        """Fetch a new token; blocks."""
        ...


class GoogleCredentials:
    """Source of access tokens for Vertex AI: `api_key=GoogleCredentials()`; asked once per call.

    - `file`: the file of a service account, in place of the default credentials.
    - `load`: makes google-auth's credentials; for tests and for credentials of another kind.

    A token that is good for five minutes more is given at once. One that ends sooner is given too, while a thread
    fetches the next. Only a first call, or one after a long silence, waits for a token, in a thread. Concurrent calls
    share one request. Raises `MISSING_CREDENTIAL` without google-auth or credentials, `INVALID_CREDENTIAL` where Google
    refuses them, `TRANSPORT` where it cannot be reached.
    """

    def __init__(self, file: str | None = None, *, load: Callable[[], Token] | None = None) -> None:
        self._file = file
        self._load = load
        self._lock = threading.Lock()
        self._credentials: Token | None = None
        self._token = ""
        self._ends = 0.0
        self._renewing: threading.Thread | None = None

    @property
    def reference(self) -> str:
        """The place, for messages."""
        if self._file is not None:
            return f"the Google credentials in {self._file}"
        return "Google's default credentials (GOOGLE_APPLICATION_CREDENTIALS, gcloud or the metadata server)"

    def __repr__(self) -> str:
        return f"GoogleCredentials({'' if self._file is None else repr(self._file)})"

    async def api_key(self) -> str | None:
        """Return a token that is good for a minute at least."""
        left = self._ends - time.time()
        if left > _LEAST_S:
            if left < _RENEW_S:
                self._renew_behind()
            return self._token
        found = await asyncio.to_thread(self._renewed, _LEAST_S)
        if isinstance(found, LlmError):
            raise found
        return found

    def _renew_behind(self) -> None:
        running = self._renewing
        if running is None or not running.is_alive():
            # A failure is not kept: the token still serves, and a call that finds it ended asks again.
            self._renewing = threading.Thread(
                target=self._renewed, args=(_RENEW_S,), name="limen-google-token", daemon=True
            )
            self._renewing.start()

    def _renewed(self, least: float) -> "str | LlmError":
        with self._lock:
            if self._ends - time.time() > least:
                return self._token  # another call has fetched it meanwhile
            try:
                return self._fetch()
            except LlmError as error:
                return error
            except Exception as error:  # noqa: BLE001 - google-auth and its transport raise what they raise
                return self._fault(error)

    def _fetch(self) -> str:
        if self._credentials is None:
            self._credentials = self._load() if self._load is not None else _credentials(self._file)
        self._credentials.refresh(_request())
        token = self._credentials.token
        if not isinstance(token, str) or not token:
            raise LlmError(f"{self.reference} gave no token", codes.INVALID_CREDENTIAL, phase="resolve")
        remember_secret(token)
        self._token, self._ends = token, _epoch(self._credentials.expiry)
        return token

    def _fault(self, error: Exception) -> LlmError:
        kinds = {kind.__name__ for kind in type(error).__mro__}
        code = codes.INVALID_CREDENTIAL
        if isinstance(error, ImportError):
            return _missing(f"{self.reference} need google-auth: install limen[vertex]")
        if "TransportError" in kinds:
            code = codes.TRANSPORT
        elif "DefaultCredentialsError" in kinds or isinstance(error, OSError):
            code = codes.MISSING_CREDENTIAL
        return LlmError(f"{self.reference} cannot be used: {foreign_text(error)}", code, phase="resolve")


def _missing(words: str) -> LlmError:
    return LlmError(words, codes.MISSING_CREDENTIAL, phase="resolve")


def _credentials(file: str | None) -> Token:
    # google-auth's own types say little: what is taken from it here is declared.
    if file is None:
        default: Callable[..., tuple[Token, object]] = getattr(import_module("google.auth"), "default")  # noqa: B009
        return default(scopes=[SCOPE])[0]
    kind: object = import_module("google.oauth2.service_account").Credentials
    load: Callable[..., Token] = getattr(kind, "from_service_account_file")  # noqa: B009
    return load(file, scopes=[SCOPE])


def _request() -> Callable[..., object]:
    make: Callable[[], Callable[..., object]] = import_module("google.auth.transport.requests").Request
    request = make()

    def send(url: str, method: str = "GET", **given: object) -> object:
        return request(url=url, method=method, **{**given, "timeout": _REQUEST_TIMEOUT_S})

    return send


def _epoch(expiry: object) -> float:
    from datetime import datetime

    # google-auth's times are in UTC without saying so; without one a token is asked for again after an hour's half.
    if isinstance(expiry, datetime):
        return expiry.replace(tzinfo=UTC).timestamp()
    return time.time() + 1800
