"""Facts about routes and models, never guesses (R10)."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import force_setattr

Modality: TypeAlias = Literal["text", "image"]


class ProviderInfo(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Id of a route, and its name for display."""

    id: str
    name: str


class Effort(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Reasoning effort that a model offers; `off` is listed exactly where the wire can turn reasoning off."""

    id: str
    name: str
    description: str | None = None


class ModelInfo(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Model of one route. Absent is unknown: `efforts=None` is an unknown list, `efforts=()` an empty one.

    `context_window` and `default_max_tokens` are tokens.
    """

    provider: str
    id: str
    name: str
    description: str | None = None
    input_modalities: Sequence[Modality] | None = None
    context_window: int | None = None
    default_max_tokens: int | None = None
    efforts: Sequence[Effort] | None = None
    default_effort: str | None = None

    def __post_init__(self) -> None:
        if self.input_modalities is not None:
            force_setattr(self, "input_modalities", tuple(self.input_modalities))
        if self.efforts is not None:
            force_setattr(self, "efforts", tuple(self.efforts))
