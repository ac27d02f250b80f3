"""Dialects of `gemini-generate`: the Gemini Developer API, and Vertex AI.

Sources, read 2026-11-30: https://ai.google.dev/api, https://ai.google.dev/gemini-api/docs/file-input-methods,
https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest and google-genai 3.6.1.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Final

from limen.adapters import _vendors as vendors
from limen.adapters._codec import Row
from limen.adapters.gemini._wire import WIRE
from limen.adapters.kit import FileRules, FinishMeaning
from limen.adapters.kit.errors import ErrorRow
from limen.contract import FrozenDict, codes

# Finish reasons beside those that all wires share: https://ai.google.dev/api/generate-content#FinishReason.
FINISH_WORDS: Final[Mapping[str, FinishMeaning]] = MappingProxyType(
    {
        "continuation": "max-tokens",  # the cap of one request of a model that answers at length
        "recitation": codes.CONTENT_FILTER,
        "blocklist": codes.CONTENT_FILTER,
        "spii": codes.CONTENT_FILTER,
        "image_safety": codes.CONTENT_FILTER,
        "image_prohibited_content": codes.CONTENT_FILTER,
        "image_recitation": codes.CONTENT_FILTER,
        "model_armor": codes.CONTENT_FILTER,
        "escalation": codes.CONTENT_FILTER,
        "pup_limited_disabled": codes.CONTENT_FILTER,
        "finish_reason_unspecified": codes.SERVER,
        "language": codes.SERVER,
        "other": codes.SERVER,
        "unexpected_tool_call": codes.SERVER,
        "too_many_tool_calls": codes.SERVER,
        "missing_thought_signature": codes.SERVER,
        "no_image": codes.SERVER,
        "image_other": codes.SERVER,
    }
)

# https://ai.google.dev/gemini-api/docs/document-processing and `…/audio`, `…/video-understanding`
_TYPES: Final = frozenset(
    {
        "application/pdf", "text/plain", "text/html", "text/css", "text/csv", "text/markdown", "text/xml", "text/rtf",
        "application/json", "text/javascript", "text/x-python",
        "audio/wav", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac", "audio/mp4", "audio/webm",
        "video/mp4", "video/mpeg", "video/quicktime", "video/webm", "video/x-flv", "video/3gpp", "video/wmv",
    }
)  # fmt: skip
_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})


class Dialect(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One dialect.

    - `links`: the addresses of files and images that the host reads; `file_base` stands before the id of a file.
    - `safety`: thresholds by category of harm, which go with every request; `project`: the one at Vertex AI.
    """

    wire: ClassVar[str] = WIRE
    wire_errors: ClassVar[tuple[ErrorRow, ...]] = ()
    # https://ai.google.dev/gemini-api/docs/image-understanding
    image_types: ClassVar[frozenset[str] | None] = _IMAGES

    path: str = "/models/{model}:streamGenerateContent?alt=sse"
    key_header: str = "x-goog-api-key"
    files: FileRules = FileRules(types=_TYPES, urls=_TYPES, ids=True)
    links: "re.Pattern[str]" = re.compile("https?://")
    file_base: str | None = None
    safety: Mapping[str, str] = FrozenDict()
    project: str | None = None


_NO_CACHE: Final = "it caches by itself; a cache of your own is extra cachedContent"
_REFUSES: Final = FrozenDict({"cache": _NO_CACHE})

GEMINI: Final = Dialect(
    name="gemini",
    vendor=vendors.GEMINI,
    models_path="/models?pageSize=1000",
    # Files of its own and videos of YouTube; any other address is refused with 400.
    links=re.compile(r"https://(?:generativelanguage\.googleapis\.com/|(?:www\.)?youtube\.com/|youtu\.be/)"),
    file_base="https://generativelanguage.googleapis.com/v1beta/",
    refuses=_REFUSES,
)
# With a key ("express mode"); a project changes address and credential.
VERTEX: Final = Dialect(
    name="vertex",
    vendor=vendors.VERTEX,
    links=re.compile(r"gs://|https?://"),
    files=FileRules(types=_TYPES, urls=_TYPES),
    refuses=_REFUSES,
)
ROWS: Final[Mapping[str, Dialect]] = MappingProxyType({row.name: row for row in (GEMINI, VERTEX)})


def vertex_address(project: str, location: str) -> str:
    """Return the base URL of a project's models; multi-regions and `global` have hosts of their own."""
    if location == "global":
        host = "aiplatform.googleapis.com"
    elif location in ("us", "eu"):
        host = f"aiplatform.{location}.rep.googleapis.com"
    else:
        host = f"{location}-aiplatform.googleapis.com"
    return f"https://{host}/v1beta1/projects/{project}/locations/{location}/publishers/google"
