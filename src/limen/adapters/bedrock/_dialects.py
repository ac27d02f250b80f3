"""Dialects of Bedrock Converse: rows of data, and what the families of models behind it take.

One address serves the models of many vendors, and some fields are one family's own. The family is read from the
model's id; an ARN that does not tell it, such as an application's inference profile, has none.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Final, Literal

import msgspec

from limen.adapters import _vendors as vendors
from limen.adapters._codec import Row
from limen.adapters.bedrock._wire import WIRE
from limen.adapters.kit import FileRules

# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html (read 2026-11-30)
DOCUMENTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "application/pdf": "pdf",
        "text/csv": "csv",
        "application/msword": "doc",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
        "application/vnd.ms-excel": "xls",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
        "text/html": "html",
        "text/plain": "txt",
        "text/markdown": "md",
    }
)


class Dialect(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One dialect; every default is Bedrock's own. `{model}` of the path is one segment, whatever the id holds."""

    wire: ClassVar[str] = WIRE
    # https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ImageBlock.html
    image_types: ClassVar[frozenset[str] | None] = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})

    path: str = "/model/{model}/converse-stream"
    image_urls: bool = False
    files: FileRules = FileRules(types=frozenset(DOCUMENTS))


BEDROCK: Final = Dialect(name="bedrock", vendor=vendors.BEDROCK, models_path="/foundation-models?byOutputModality=TEXT")
ROWS: Final[Mapping[str, Dialect]] = MappingProxyType({row.name: row for row in (BEDROCK,)})


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """Fields that the models of one family take beyond those that all have.

    - `effort`: how an effort goes into `additionalModelRequestFields`; `None` where no field is known. `efforts`: the
      levels, `None` where each model has its own.
    - `reasoning`: the reasoning of earlier turns that is taken back: signed, plain, or hidden as a whole.
    - `cache`: whether cache points are taken, and whether tools take one; `cache_long`: whether one may last an hour.
    - `none`: whether tools can be forbidden; `system_turns`: whether system messages may stand inside the history.
    - `stop_path`: whether it tells which stop sequence matched.
    """

    effort: Literal["claude", "flat", "nested", "qwen"] | None = None
    efforts: tuple[str, ...] | None = None
    reasoning: frozenset[str] = frozenset()
    cache: bool = False
    cache_tools: bool = False
    cache_long: bool = False
    none: bool = False
    system_turns: bool = False
    stop_path: bool = False


CLAUDE: Final = Family(
    effort="claude",
    reasoning=frozenset({"signed", "hidden"}),
    cache=True,
    cache_tools=True,
    cache_long=True,
    none=True,
    system_turns=True,
    stop_path=True,
)
# A model that its id does not tell: nothing is known to be refused but what needs a family's own field.
UNKNOWN: Final = Family(
    reasoning=frozenset({"signed", "plain", "hidden"}), cache=True, cache_tools=True, cache_long=True, system_turns=True
)
_PLAIN: Final = Family()

# By the beginning of the id behind its geographical prefix; the first that fits counts. Sources, read 2026-11-30: the
# model pages of https://docs.aws.amazon.com/bedrock/latest/userguide, and pydantic-ai 2.68 (verified live) [C].
FAMILIES: Final[tuple[tuple[str, Family], ...]] = (
    ("anthropic.", CLAUDE),
    ("amazon.nova", Family(cache=True)),
    ("openai.gpt-oss", Family(effort="flat", efforts=("low", "medium", "high"))),
    (
        "openai.",
        Family(effort="nested", efforts=("off", "low", "medium", "high", "xhigh"), reasoning=frozenset({"hidden"})),
    ),
    ("qwen.", Family(effort="qwen", efforts=("off", "low", "high"))),
    ("deepseek.r1", Family(reasoning=frozenset({"plain"}))),
    ("deepseek.", Family(effort="flat", efforts=("off", "high"))),
    ("zai.glm-5.3", Family(effort="flat", efforts=("low", "medium", "high", "max"))),
    ("zai.", Family(effort="flat", efforts=("off", "high"))),
    ("xai.", Family(effort="nested", efforts=("low", "medium", "high", "xhigh"))),
    *(
        (f"{vendor}.", _PLAIN)
        for vendor in ("amazon", "ai21", "cohere", "google", "meta", "minimax", "mistral", "moonshot", "moonshotai")
    ),
    *((f"{vendor}.", _PLAIN) for vendor in ("nvidia", "stability", "writer")),
)

# Prefixes of inference profiles: https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html
_PREFIX: Final = re.compile(r"\A(?:us-gov|us|eu|apac|jp|au|ca|sa|me|global)\.")


def bare_id(model: str) -> str:
    """Return a model's id without ARN and geographical prefix, in lower case."""
    return _PREFIX.sub("", model.rpartition("/")[2].lower(), count=1)


def family_of(model: str) -> Family:
    """Return the family of a model by its id, `UNKNOWN` where the id does not tell it."""
    bare = bare_id(model)
    return next((family for start, family in FAMILIES if bare.startswith(start)), UNKNOWN)
