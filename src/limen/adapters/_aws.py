"""Amazon's cloud around a wire: credentials, signatures, regions, and exceptions inside an event stream.

Two wires stand on it: Bedrock's Converse, and Anthropic's messages by InvokeModel. Signing is botocore's (extra
`limen[bedrock]`), which is imported with the first request that is signed.
"""

import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Literal, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

import msgspec

from limen.adapters._codec import Row, RowCodec
from limen.adapters.kit import UNREADABLE, readable_words
from limen.contract import Failure, Limits, LlmError, ModelInfo, Secret, WireRequest, codes, loads, remember_secret
from limen.transport import HttpRequest
from limen.transport.framing import EventStreamDecoder, EventStreamFrame, SseEvent

R = TypeVar("R", bound=Row)


class WireChunk(msgspec.Struct, frozen=True, gc=False):
    """`chunk` of InvokeModelWithResponseStream: one event of the model's own wire, in base64."""

    bytes: str | None = None


class WireModel(msgspec.Struct, frozen=True, gc=False):
    """One row of `GET /foundation-models`."""

    modelId: str | None = None  # noqa: N815
    modelName: str | None = None  # noqa: N815
    inputModalities: list[str] | None = None  # noqa: N815
    outputModalities: list[str] | None = None  # noqa: N815


class WireModels(msgspec.Struct, frozen=True, gc=False):
    """`GET /foundation-models`."""

    modelSummaries: list[WireModel] | None = None  # noqa: N815


_MODELS: Final = msgspec.json.Decoder(WireModels)
_CHUNK: Final = msgspec.json.Decoder(WireChunk)
_MODALITIES: Final[tuple[tuple[str, Literal["text", "image"]], ...]] = (("TEXT", "text"), ("IMAGE", "image"))
_QUOTED_BYTES: Final = 1024

SERVICE: Final = "bedrock"
"""The service in a signature's scope; the host's own name is another (botocore 1.44.8, `signingName`)."""

# Every header that carries a part of a credential, for masking and for headers of the caller's own.
AUTH_HEADERS: Final = frozenset({"authorization", "x-amz-date", "x-amz-security-token"})

# First bytes of an event stream: the length of a message is far below 2 ** 27.
FRAMES_MARK: Final = re.compile(rb"\A[\x00-\x07]")

_PLACE: Final = "{region}"
_REGION: Final = re.compile(r"[a-z]{2,}(?:-[a-z0-9]+)+")
# arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-…
_ARN: Final = re.compile(r"arn:[a-z0-9-]+:[a-z0-9-]+:([a-z0-9-]*):")
# The host of an address that names its region, such as bedrock-runtime-fips.us-gov-west-1.amazonaws.com.
_HOST: Final = re.compile(r"(?:^|\.)bedrock(?:-runtime)?(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws\.com|api\.aws)")
# Signed as they are sent; the rest may be changed by what stands between (a proxy, tracing).
_SIGNED: Final = frozenset({"content-type"})
_JSON_ERROR: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class AwsCredentials(msgspec.Struct, frozen=True, kw_only=True):
    """Credentials of Amazon's cloud for one call: keys that sign it, or a bearer token; no repr shows them.

    `token` belongs to temporary keys. `region` is where the source's profile says, `source` where they come from, in
    words that may be shown. A bearer token stands alone.
    """

    access_key: str = ""
    secret_key: str = ""
    token: str | None = None
    bearer: str | None = None
    region: str | None = None
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("secret_key", "token", "bearer"):
            value: object = getattr(self, name)
            if isinstance(value, str) and value:
                msgspec.structs.force_setattr(self, name, Secret(value))
                remember_secret(value)

    def __repr__(self) -> str:
        return f"AwsCredentials(source={self.source!r}, region={self.region!r})"


class AwsCodec(RowCodec[R]):
    """Base of the codec of a row that Amazon serves: a key is a bearer token, other credentials sign the request.

    `region` is the route's. `signs`: the route names no key, so its credentials are `AwsCredentials`.
    """

    def __init__(self, row: R, *, region: str | None = None, signs: bool = False) -> None:
        super().__init__(row)
        self.region = region
        self.signs = signs
        if signs:
            self.credential_type = AwsCredentials
            self.auth_headers = AUTH_HEADERS
            self.requires_key = False
            self.credentials = "those of botocore's chain (environment, profile, role)"

    def authorize(self, request: HttpRequest, credential: object) -> Sequence[tuple[str, str]]:
        """Return the header that carries a key, or the signature of the request."""
        if isinstance(credential, AwsCredentials):
            return authorization(request, credential, self.region)
        return super().authorize(request, credential)

    def address(self, base_url: str, request: WireRequest, credential: object) -> str:
        """Return the address of one request, in the region of its model."""
        return located(base_url, request, self.region, credential)

    def classify(self, status: int, headers: Mapping[str, str], body: bytes) -> Failure:
        """Say what a failed answer means; the error's type stands in a header."""
        return super().classify(status, headers, error_body(headers, body))


def authorization(request: HttpRequest, credential: AwsCredentials, region: str | None) -> Sequence[tuple[str, str]]:
    """Return the headers that carry a credential: the bearer token, or the signature of the request.

    `region` is the route's own; without it the address or the credential says it.
    """
    if credential.bearer is not None:
        return [("authorization", f"Bearer {credential.bearer}")]
    found = _HOST.search(urlsplit(request.url).hostname or "")
    where = found[1] if found else region or credential.region
    if where is None:
        raise missing_region()
    return signed(request, credential, where, datetime.now(UTC))


def signed(request: HttpRequest, credential: AwsCredentials, region: str, moment: datetime) -> list[tuple[str, str]]:
    """Return the headers of a signature, version 4, over method, address, content type, time and body."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    keys = Credentials(credential.access_key, credential.secret_key, credential.token)
    signer = SigV4Auth(keys, SERVICE, region)
    headers = {name: value for name, value in request.headers if name in _SIGNED}
    headers["X-Amz-Date"] = moment.strftime("%Y%m%dT%H%M%SZ")
    if credential.token is not None:
        headers["X-Amz-Security-Token"] = credential.token
    asked = AWSRequest(method=request.method, url=request.url, headers=headers, data=request.body)
    asked.context["timestamp"] = headers["X-Amz-Date"]
    signature = signer.signature(signer.string_to_sign(asked, signer.canonical_request(asked)), asked)
    names = signer.signed_headers(signer.headers_to_sign(asked))
    scope = f"Credential={signer.scope(asked)}, SignedHeaders={names}, Signature={signature}"
    added = [("x-amz-date", headers["X-Amz-Date"]), ("authorization", f"AWS4-HMAC-SHA256 {scope}")]
    return added if credential.token is None else [*added, ("x-amz-security-token", credential.token)]


# -- regions and addresses


def region_fault(region: str) -> str | None:
    """Say why a text is no region, or return `None` where it may be one."""
    return None if _REGION.fullmatch(region) else f"region is a name such as us-east-1, got {region!r}"


def missing_region() -> LlmError:
    """Make the failure of a call that nothing says a region for."""
    return LlmError(
        "nothing says in which region the model is: set region in [routes.x.options], name the model by its ARN, or "
        "give a profile that has one (AWS_REGION or AWS_DEFAULT_REGION counts for a route that names no key)",
        codes.INVALID_CONFIG,
        phase="resolve",
    )


def located(base_url: str, request: WireRequest, region: str | None, credential: object) -> str:
    """Return the address of one request: `{region}` is that of the model's ARN, else the route's, else the profile's.

    The list of models is at the control plane's host. An address without a place for a region stands as it is.
    """
    address = base_url
    if _PLACE in address:
        own = credential.region if isinstance(credential, AwsCredentials) else None
        where = arn_region(request.path) or region or own
        if where is None:
            raise missing_region()
        address = address.replace(_PLACE, where)
        if where.startswith("cn-") and address.endswith(".amazonaws.com"):
            address += ".cn"
    if request.method == "GET":
        parts = urlsplit(address)
        control = re.sub(r"^bedrock-runtime(?=[.-])", "bedrock", parts.netloc)
        address = urlunsplit(parts._replace(netloc=control))
    return address


def arn_region(path: str) -> str | None:
    """Return the region of the ARN that a request's path names its model by, `None` where it is no ARN."""
    found = _ARN.match(unquote(path.removeprefix("/model/").partition("/")[0]))
    return found[1] or None if found else None


# -- errors


def exception_of(frame: EventStreamFrame) -> bytes | None:
    """Return an exception of an event stream as an error object with its type, `None` for any other frame.

    `:message-type` is `exception`, with the type in a header and the message in the payload, or `error`, with both in
    headers (botocore 1.44.8, eventstream.py).
    """
    kind = frame.text(":message-type")
    if kind == "exception":
        return typed_error(frame.text(":exception-type"), frame.payload)
    if kind == "error":
        error = {"type": frame.text(":error-code"), "message": frame.text(":error-message")}
        return msgspec.json.encode({"error": error})
    return None


def typed_error(kind: str, body: bytes) -> bytes:
    """Return an error body with its type, which Amazon says in a header; a body that is no object stays as it is."""
    try:
        members = _JSON_ERROR.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return body
    if not kind or "error" in members:
        return body
    return msgspec.json.encode({"type": kind, **members})


def is_bare_error(body: bytes) -> bool:
    """Tell whether a body is an error as Amazon writes it, `{"message": …}`, and no answer of the model's."""
    try:
        members = _JSON_ERROR.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return False
    return "message" in members and "content" not in members and "error" not in members


def error_body(headers: Mapping[str, str], body: bytes) -> bytes:
    """Return the body of a failed answer with the type that the header `x-amzn-errortype` says.

    `x-amzn-errortype: ValidationException:http://internal.amazon.com/coral/…` [R]
    """
    return typed_error(headers.get("x-amzn-errortype", "").partition(":")[0].strip(), body)


# -- frames around another wire


class InvokeFrames:
    """Amazon's frames around another wire's events (`kit.Framing`): each `chunk` is that event, an exception an error.

    A chunk whose bytes are no base64 is passed on as it came, so that it is refused where events are read.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._frames = EventStreamDecoder(limits)

    @property
    def failure(self) -> LlmError | None:
        """The failure after which no more frames come."""
        return self._frames.failure

    def feed(self, data: bytes) -> list[SseEvent]:
        """Take one read; return the events it completed."""
        return [event for frame in self._frames.feed(data) if (event := _inside(frame)) is not None]

    def eof(self) -> list[SseEvent]:
        """Take the clean end of the body; a frame that has begun and not ended is a stream cut short."""
        self._frames.eof()
        return []


def _inside(frame: EventStreamFrame) -> SseEvent | None:
    error = exception_of(frame)
    if error is not None:
        return SseEvent("error", error)
    if frame.text(":event-type") != "chunk":
        return None
    try:
        return SseEvent(None, b64decode(_CHUNK.decode(frame.payload).bytes or "", validate=True))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return SseEvent(None, frame.payload)


# -- the list of models


def parse_foundation_models(provider: str, body: bytes) -> tuple[ModelInfo, ...]:
    """Read `GET /foundation-models`: models that answer in text; anything else is `INVALID_CATALOG`."""
    try:
        models = loads(body, _MODELS).modelSummaries
    except UNREADABLE as fault:
        what = f"the model list cannot be read ({fault}): {readable_words(body[:_QUOTED_BYTES])}"
        raise LlmError(what, codes.INVALID_CATALOG) from None
    if models is None:
        raise LlmError(f"the body is no model list: {readable_words(body[:_QUOTED_BYTES])}", codes.INVALID_CATALOG)
    return tuple(_model(provider, model, model.modelId) for model in models if model.modelId and _speaks(model))


def _speaks(model: WireModel) -> bool:
    return model.outputModalities is None or "TEXT" in model.outputModalities


def _model(provider: str, model: WireModel, model_id: str) -> ModelInfo:
    kinds = model.inputModalities
    taken: list[Literal["text", "image"]] = [known for kind, known in _MODALITIES if kind in (kinds or ())]
    return ModelInfo(provider, model_id, model.modelName or model_id, input_modalities=None if kinds is None else taken)
