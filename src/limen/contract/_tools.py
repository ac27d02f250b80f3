"""Tools that a model may call, the choice among them, and the schema of an answer."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from limen.contract._json import freeze_object


class ToolSpec(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Tool of a request: `parameters` is a JSON-schema object, absent for a tool without arguments.

    `strict` asks the provider to hold the model to the schema; it is never set unasked.
    """

    name: str
    description: str | None = None
    parameters: Mapping[str, object] | None = None
    strict: bool | None = None

    def __post_init__(self) -> None:
        if self.parameters is not None:
            force_setattr(self, "parameters", freeze_object(self.parameters))


class ToolChoice(msgspec.Struct, frozen=True, tag="tool", rename="camel", forbid_unknown_fields=True, gc=False):
    """Tool choice that makes the model call the tool of this name."""

    name: str


class JsonSchema(
    msgspec.Struct, frozen=True, tag="json-schema", rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """Response format: the answer's text is JSON of this schema; `strict` is never set unasked."""

    name: str
    schema: Mapping[str, object]
    strict: bool | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "schema", freeze_object(self.schema))

    @classmethod
    def of(cls, kind: type, *, strict: bool = False, name: str | None = None) -> "JsonSchema":
        """Make the format of a type: a msgspec struct, dataclass, `TypedDict` or pydantic model (X9).

        Objects are closed. `name` is the type's own unless given. With `strict`, a field that has a default becomes
        required, since providers' strict modes take no optional properties, and `strict` is set. A type without a
        JSON schema is `LlmError` `INVALID_OPTIONS`. `Response.parse(kind)` reads the answer.
        """
        from limen.contract import _codes as codes
        from limen.contract._errors import LlmError
        from limen.contract._schemas import SchemaFault, TypeSchema, all_required, type_name

        try:
            schema = TypeSchema(kind).document
            schema = all_required(schema) if strict else schema
        except SchemaFault as fault:
            raise LlmError(str(fault), codes.INVALID_OPTIONS, phase="resolve") from None
        return cls(name or type_name(kind), schema, True if strict else None)


ToolChoiceOption: TypeAlias = Literal["auto", "none", "required"] | ToolChoice
ResponseFormat: TypeAlias = Literal["text", "json"] | JsonSchema
