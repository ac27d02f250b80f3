"""The row of the wire `mistral`: chat completions with all that Mistral's own server adds to them."""

from typing import ClassVar, Final

from msgspec.structs import replace

from limen.adapters import _vendors as vendors
from limen.adapters.kit import FileRules
from limen.adapters.openai_chat import ROWS
from limen.adapters.openai_chat import Dialect as ChatDialect


class Dialect(ChatDialect, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the wire; the fields are those of chat completions."""

    wire: ClassVar[str] = vendors.MISTRAL_CHAT


_PDF: Final = frozenset({"application/pdf"})
_SOUNDS: Final = frozenset({"audio/wav", "audio/mpeg"})
_PLAIN: Final = ROWS["mistral"]

# The first part is what the row `mistral` of chat completions says. The second is what only this wire has: documents
# and sounds by https://docs.mistral.ai/capabilities/document_ai/document_qna and /capabilities/audio (2026-11) [D], PDF
# as bytes or by address, ids of uploaded files, wav and mp3 [R 2026-08]; references; the order of turns; the facts of
# the list of models.
MISTRAL: Final = Dialect(
    name=_PLAIN.name,
    vendor=_PLAIN.vendor,
    seed_field=_PLAIN.seed_field,
    stream_usage=_PLAIN.stream_usage,
    efforts=_PLAIN.efforts,
    tool_name=_PLAIN.tool_name,
    tool_ids=_PLAIN.tool_ids,
    tool_result_names=_PLAIN.tool_result_names,
    tool_images=_PLAIN.tool_images,
    reasoning_back=_PLAIN.reasoning_back,
    files=FileRules(types=_PDF | _SOUNDS, urls=_PDF, ids=True),
    documents="document_url",
    mistral_turns=True,
    reading=replace(_PLAIN.reading, references=True),
    catalog="mistral",
)
