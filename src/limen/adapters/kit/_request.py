"""Options to a request: what every wire checks, refuses and merges alike (Q1, Q3, Q8-Q10, R4).

A codec names the fields that it honours. Every other field that is set is refused here, so that a field added to
`GenerateOptions` later is refused by every older adapter and never dropped.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NoReturn, Protocol, TypeGuard, TypeVar

import msgspec

from limen.contract import (
    GenerateOptions,
    JsonSchema,
    LlmError,
    ModelInfo,
    ReplayDrop,
    ToolChoice,
    ToolSpec,
    WireRequest,
    codes,
    dumps,
    json_fault,
)

T = TypeVar("T")

NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""OpenAI's rule for names of tools and schemas: `^[a-zA-Z0-9_-]{1,64}$` (API reference, 2026-08)."""

# Not a matter of honouring: what every request is made of, hints, and what acts outside the request.
_ALWAYS: Final = frozenset({"provider", "model", "messages", "session_id", "purpose", "signal", "timeouts"})
_OPTIONAL: Final = tuple(name for name in GenerateOptions.__struct_fields__ if name not in _ALWAYS)
# Values that hold where nothing is sent: plain text, and no prompt caching unless asked for.
_SATISFIED: Final[Mapping[str, str]] = MappingProxyType({"response_format": "text", "cache": "none"})

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class BuildContext:
    """Facts of a call beside its options; `replay_dropped` is where a codec reports state that was not used (R5).

    `model` holds the facts configured for exactly this model, `None` where there are none; `default_max_tokens` is
    the cap to write where the call and the model set none.
    """

    __slots__ = ("default_max_tokens", "model", "replay_dropped")

    def __init__(self, model: ModelInfo | None = None, default_max_tokens: int | None = None) -> None:
        self.model: ModelInfo | None = model
        self.default_max_tokens: int | None = default_max_tokens
        self.replay_dropped: list[ReplayDrop] = []


class Builder(Protocol):
    """The part of a codec that makes requests."""

    @property
    def wire(self) -> str:
        """The wire's name."""
        ...

    @property
    def dialect(self) -> str:
        """The row's name."""
        ...

    @property
    def honours(self) -> Collection[str]:
        """Fields of `GenerateOptions` that `build` writes or checks."""
        ...

    def build(self, options: GenerateOptions, context: BuildContext) -> WireRequest:
        """Make the request, or refuse it."""
        ...


def build(codec: Builder, options: GenerateOptions, context: BuildContext) -> WireRequest:
    """Make a request by a codec; a field that is set and that the codec does not honour is refused (Q1)."""
    RequestWriter(options, context, wire=codec.wire, dialect=codec.dialect).check_honoured(codec.honours)
    return codec.build(options, context)


class RequestWriter:
    """One request in the making: `body`, checked reads of the options, and refusals before any I/O.

    `dialect` and `wire` are for messages; `refuses` holds what the dialect row cannot honour, by field, with the
    reason. Refusals are `LlmError`: `UNSUPPORTED…` for what wire or row cannot do, `INVALID_OPTIONS` for what is
    wrong by itself; all name the field's path.
    """

    def __init__(
        self,
        options: GenerateOptions,
        context: BuildContext,
        *,
        wire: str,
        dialect: str,
        refuses: Mapping[str, str] = _NOTHING,
    ) -> None:
        self.options = options
        self.context = context
        self.body: dict[str, object] = {}
        self._wire = wire
        self._dialect = dialect
        self._refuses = refuses

    # -- refusals

    def refuse(self, path: str, reason: str, code: str = codes.UNSUPPORTED) -> NoReturn:
        """Refuse a field or a content block that cannot be sent."""
        raise LlmError(
            f"{path} cannot be sent to {self.options.provider}/{self.options.model} "
            f"(dialect {self._dialect}): {reason}",
            code,
            phase="resolve",
        )

    def invalid(self, fault: str) -> NoReturn:
        """Refuse what is wrong by itself."""
        raise LlmError(
            f"{fault} (for {self.options.provider}/{self.options.model})", codes.INVALID_OPTIONS, phase="resolve"
        )

    def check_offered(self, name: str) -> None:
        """Refuse a field that the dialect row lists."""
        reason = self._refuses.get(name)
        if reason is not None:
            self.refuse(name, reason)

    def check_honoured(self, honours: Collection[str]) -> None:
        """Refuse every field that is set, is outside `honours`, and does not hold by itself (Q1)."""
        for name in _OPTIONAL:
            if name in honours:
                continue
            value: object = getattr(self.options, name)
            if value is None or value == () or _SATISFIED.get(name) == value:
                continue
            if name == "reasoning_effort":
                self.refuse_effort(str(value), "this wire has no efforts")
            self.refuse(name, f"the wire {self._wire} has no such field")

    def json(self, value: T, path: str) -> T:
        """Return a value that is JSON, or refuse it (Q8)."""
        fault = json_fault(value, path)
        if fault is not None:
            self.invalid(fault)
        return value

    # -- fields

    def put(self, name: str, value: object, *, field: str | None = None) -> None:
        """Write an option that is set, under the wire's name for it; an unset one does not appear (Q3)."""
        if value is None or value == ():
            return
        self.check_offered(name)
        self.body[field or name] = self.json(value, name)

    def stops(self, limit: int | None) -> Sequence[str]:
        """Return the stop words, at most `limit` of them."""
        stops = self.options.stop or ()
        if stops:
            self.check_offered("stop")
        if limit is not None and len(stops) > limit:
            self.refuse("stop", f"it takes at most {limit}, and there are {len(stops)}")
        return stops

    def max_tokens(self) -> int | None:
        """Return the output cap: the call's own, else the model's, else the adapter's (R4)."""
        model = self.context.model
        known = None if model is None else model.default_max_tokens
        for cap in (self.options.max_tokens, known, self.context.default_max_tokens):
            if cap is not None:
                return self.json(cap, "max_tokens")
        return None

    def effort(self, levels: Collection[str] | None) -> str | None:
        """Return the effort asked for, which is one of the model's own where they are known, else of `levels` (R4).

        `levels` of `None` are unknown: the value goes out as given.
        """
        effort = self.options.reasoning_effort
        if effort is None:
            return None
        model = self.context.model
        known = levels if model is None or model.efforts is None else tuple(one.id for one in model.efforts)
        if known is not None and effort not in known:
            self.refuse_effort(effort, f"the efforts are {', '.join(known)}" if known else "it has no efforts to set")
        return effort

    def refuse_effort(self, effort: str, reason: str) -> NoReturn:
        """Refuse an effort."""
        self.refuse(f"reasoning_effort {effort!r}", reason, codes.UNSUPPORTED_REASONING_EFFORT)

    def cache(self) -> Literal["short", "long"] | None:
        """Return which prompt caching is asked for; nothing is cached unless it is, so `none` holds already."""
        hint = self.options.cache
        if hint is None or hint == "none":
            return None
        if hint not in ("short", "long"):
            self.invalid(f"cache is {hint!r}; it is none, short or long")
        self.check_offered("cache")
        return hint

    def response_format(self, offered: Collection[str]) -> str | JsonSchema | None:
        """Return the answer's format, which is among `offered` (of `text`, `json`, `json-schema`)."""
        form = self.options.response_format
        if form is None:
            return None
        kind = "json-schema" if isinstance(form, JsonSchema) else form
        if kind not in ("text", "json", "json-schema"):
            self.invalid(f"response_format is {kind!r}; it is text, json or JsonSchema(name, schema)")
        if kind != "text":
            self.check_offered("response_format")
        if kind not in offered:
            self.refuse("response_format", f"of answer formats it has {', '.join(sorted(offered))}, not {kind}")
        if isinstance(form, JsonSchema):
            self.json(form.schema, "response_format.schema")
        return form

    # -- tools

    def tools(self, write: Callable[[ToolSpec, str], T], *, limit: int | None = None) -> list[T]:
        """Write the tools one by one; names are not empty and not repeated (Q10), and there are at most `limit`."""
        tools = self.options.tools or ()
        if tools:
            self.check_offered("tools")
        if limit is not None and len(tools) > limit:
            self.refuse("tools", f"it takes at most {limit} tools, and there are {len(tools)}")
        seen: set[str] = set()
        written: list[T] = []
        for index, tool in enumerate(tools):
            path = f"tools[{index}]"
            if not tool.name:
                self.invalid(f"{path}.name is empty")
            if tool.name in seen:
                self.invalid(f"{path}.name is {tool.name!r}, which another tool has")
            seen.add(tool.name)
            if tool.parameters is not None:
                self.json(tool.parameters, f"{path}.parameters")
            written.append(write(tool, path))
        return written

    def check_name(self, name: str, path: str, pattern: "re.Pattern[str] | None") -> None:
        """Refuse a name that the wire is known to refuse (Q10)."""
        if pattern is not None and pattern.fullmatch(name) is None:
            self.refuse(path, f"{name!r} does not match {pattern.pattern}")

    def tool_choice(self, offered: Collection[str] = ("auto", "none", "required", "tool")) -> str | ToolChoice | None:
        """Return the tool choice, which is among `offered`; `tool` stands for a named one.

        Without tools neither a choice nor `parallel_tool_calls` means anything, and a named tool must be among them.
        """
        options = self.options
        for name, value in (("tool_choice", options.tool_choice), ("parallel_tool_calls", options.parallel_tool_calls)):
            if value is not None:
                self.check_offered(name)
                if not options.tools:
                    self.refuse(name, "it says how to use tools, and the request has none")
        choice = options.tool_choice
        if choice is None:
            return None
        kind = "tool" if isinstance(choice, ToolChoice) else choice
        if kind not in ("auto", "none", "required", "tool"):
            self.invalid(f"tool_choice is {kind!r}; it is auto, none, required or ToolChoice(name)")
        if kind not in offered:
            known = ", ".join(sorted(name for name in offered if name != "tool"))
            words = f"the tool {choice.name!r}" if isinstance(choice, ToolChoice) else choice
            self.refuse("tool_choice", f"of tool choices it honours {known}, not {words}")
        if isinstance(choice, ToolChoice) and all(tool.name != choice.name for tool in options.tools or ()):
            self.invalid(f"tool_choice names {choice.name!r}, which is not among the tools")
        return choice

    # -- the end

    def merge_extra(self, refused: Callable[[str, object], str | None] = lambda _name, _value: None) -> None:
        """Merge the fields of `extra` for this wire last (Q9).

        A field that the body has already is `INVALID_OPTIONS`, except that two objects merge one level deep;
        extra of another wire is `UNSUPPORTED`. `refused` gives the reason why a field may not be sent at all.
        """
        for wire, fields in (self.options.extra or {}).items():
            if wire != self._wire:
                self.refuse(f"extra.{wire}", f"the wire of this route is {self._wire}")
            if not is_json_object(fields):
                self.invalid(f"extra.{wire} is not an object of fields")
            for name, value in fields.items():
                path = f"extra.{wire}.{name}"
                reason = refused(name, value)
                if reason is not None and name not in self.body:
                    self.refuse(path, reason)
                self._merge(name, self.json(value, path), path)

    def _merge(self, name: str, value: object, path: str) -> None:
        own = self.body.get(name)
        if own is None:
            self.body[name] = value
            return
        if not (is_json_object(own) and is_json_object(value)):
            self.invalid(f"{path} is a field that the request's own options write; set it there")
        for inner in value:
            if inner in own:
                self.invalid(f"{path}.{inner} is a field that the request's own options write; set it there")
        self.body[name] = {**own, **value}

    def encoded(self) -> bytes:
        """Return the body's bytes; lone surrogates become U+FFFD (Q8)."""
        try:
            return msgspec.json.encode(self.body)
        except UnicodeEncodeError:
            return dumps(self.body)


def is_json_object(value: object) -> TypeGuard[Mapping[str, object]]:
    """Tell whether a value of a JSON document is an object; its keys are strings since it was frozen or made here."""
    return isinstance(value, Mapping)


def is_json_array(value: object) -> TypeGuard[tuple[object, ...]]:
    """Tell whether a value of a frozen JSON document is an array."""
    return isinstance(value, tuple)
