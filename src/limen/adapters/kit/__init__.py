"""Parts that every wire needs and none writes again: public, pure, no I/O.

- `BodyReader`: a stream of frames or a whole document, told apart (S3); `DepthCheck`, `is_cut_short` … read JSON.
- `Blocks`: open blocks, their deltas and their ends (C1-C4, C8, S5); `Calls`: tool calls from fragments (W3, W4).
- `Ending`: finish words, their rank and the outcome (C11, C12, W5).
- `parse_model_list`: OpenAI's shape of a list of models (R10).
- `UsageReports`, `first_count`, `uncached`, `with_reasoning`: token counts to disjoint ones (W7).
- `CallIds`, `OutgoingIds`: made ids and rewritten ids (C9, C10).
- `RequestWriter`: honoured fields, refusals, `extra` (Q1, Q3, Q8-Q10); `strict_fault`,
  `strict_schema`: JSON schemas for strict modes, checked and rewritten; `gemini_schema` for Gemini's two forms.
- `StateWriter`, `read_state`, `read_items`: replay state before, at and after a block (R5, N4).
- `limen.adapters.kit.errors`: classification of errors as data (E3).
"""

from limen.adapters.kit._blocks import Blocks, OpenBlock, OpenCall, OpenImage, OpenText, join_halves
from limen.adapters.kit._body import SSE_FIELD, BodyReader, Framing
from limen.adapters.kit._calls import DOCUMENT_STARTS, Call, Calls, Fragment, MalformedCall
from limen.adapters.kit._catalog import parse_model_list
from limen.adapters.kit._content import (
    NO_FILES,
    FileRules,
    ImageRules,
    arguments_object,
    base64_of,
    block_words,
    check_call,
    check_file,
    check_image,
    check_result,
    check_role,
    media_type_of,
    refuse_block,
)
from limen.adapters.kit._ending import FINISH_WORDS, Ending, FinishMeaning
from limen.adapters.kit._ids import ALPHANUMERIC, CallIds, OutgoingIds, ToolIdRule
from limen.adapters.kit._json import (
    UNREADABLE,
    DepthCheck,
    edited,
    first_document,
    is_cut_short,
    is_object,
    mended,
    read_lenient,
    readable_words,
    tolerant,
    without_blanks,
    without_lone_halves,
)
from limen.adapters.kit._replay import Item, StateWriter, invalid_state, json_object, read_items, read_state
from limen.adapters.kit._request import NAME, BuildContext, RequestWriter, build, is_json_array, is_json_object
from limen.adapters.kit._schema import strict_fault
from limen.adapters.kit._strict import NO_ARGUMENTS, StrictFault, strict_schema
from limen.adapters.kit._subset import SubsetFault, gemini_schema
from limen.adapters.kit._text import NotCumulative, ThinkTags, grown
from limen.adapters.kit._usage import (
    ROUNDING,
    Count,
    PromptCounts,
    UsageReports,
    first_count,
    merged,
    uncached,
    with_reasoning,
)

__all__ = [
    "ALPHANUMERIC",
    "DOCUMENT_STARTS",
    "FINISH_WORDS",
    "NAME",
    "NO_ARGUMENTS",
    "NO_FILES",
    "ROUNDING",
    "SSE_FIELD",
    "UNREADABLE",
    "Blocks",
    "BodyReader",
    "BuildContext",
    "Call",
    "CallIds",
    "Calls",
    "Count",
    "DepthCheck",
    "Ending",
    "FileRules",
    "FinishMeaning",
    "Fragment",
    "Framing",
    "ImageRules",
    "Item",
    "MalformedCall",
    "NotCumulative",
    "OpenBlock",
    "OpenCall",
    "OpenImage",
    "OpenText",
    "OutgoingIds",
    "PromptCounts",
    "RequestWriter",
    "StateWriter",
    "StrictFault",
    "SubsetFault",
    "ThinkTags",
    "ToolIdRule",
    "UsageReports",
    "arguments_object",
    "base64_of",
    "block_words",
    "build",
    "check_call",
    "check_file",
    "check_image",
    "check_result",
    "check_role",
    "edited",
    "first_count",
    "first_document",
    "gemini_schema",
    "grown",
    "invalid_state",
    "is_cut_short",
    "is_json_array",
    "is_json_object",
    "is_object",
    "join_halves",
    "json_object",
    "media_type_of",
    "mended",
    "merged",
    "parse_model_list",
    "read_items",
    "read_lenient",
    "read_state",
    "readable_words",
    "refuse_block",
    "strict_fault",
    "strict_schema",
    "tolerant",
    "uncached",
    "with_reasoning",
    "without_blanks",
    "without_lone_halves",
]
