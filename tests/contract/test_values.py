"""Section 1: values are immutable, hashable, made of tuples and frozen dicts, and say what cannot be."""

import pickle
from collections.abc import Callable

import msgspec
import pytest

from limen.contract import (
    RETRYABLE,
    STOP,
    AbortController,
    BlockEnd,
    BlockStart,
    CallInfo,
    Effort,
    Failure,
    Finish,
    FinishReason,
    FrozenDict,
    GenerateOptions,
    ImageBlock,
    JsonSchema,
    Limits,
    Message,
    ModelInfo,
    ModelSource,
    ProviderInfo,
    ReasoningBlock,
    ReasoningDelta,
    ReplayDrop,
    Response,
    RetryPolicy,
    TextBlock,
    TextDelta,
    Timeouts,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    ToolChoice,
    ToolResultBlock,
    ToolSpec,
    UsageChunk,
    assistant,
    system,
    tool_result,
    user,
)

IMAGE = ImageBlock("image/png", b"x")

VALUES = [
    TextBlock("t"),
    ReasoningBlock("r"),
    IMAGE,
    ToolCallBlock("c", "f", "{}"),
    ToolResultBlock("c", [TextBlock("t"), IMAGE]),
    BlockStart(0, "text"),
    TextDelta(0, "t"),
    ReasoningDelta(0, "r"),
    ToolCallDelta(0, "c", "f", "{"),
    BlockEnd(0, TextBlock("t")),
    UsageChunk(TokenUsage(1, 2, 3, 4, 5)),
    Finish(STOP, {"v": 1, "blocks": [{"a": [1]}]}),
    FinishReason("error", Failure("m", "SERVER", "headers", 500, "p", 7, "r", True)),
    Message("assistant", [TextBlock("t")], "id", ModelSource("p", "m"), {"v": 1, "blocks": []}),
    ToolSpec("f", "d", {"type": "object", "required": ["a"]}, True),
    ToolChoice("f"),
    JsonSchema("n", {"type": "object"}, True),
    GenerateOptions("p", "m", [user("Hi")], tools=[ToolSpec("f")], stop=["x"], extra={"w": {"a": [1]}}),
    Response(assistant("t"), STOP, replay_state={"v": 1}, info=CallInfo("p", "m"), replay_dropped=[ReplayDrop("x")]),
    ModelInfo("p", "m", "M", input_modalities=["text"], efforts=[Effort("low", "Low")]),
    ProviderInfo("p", "P"),
    RetryPolicy(codes=["SERVER"]),
    Timeouts(total=5),
    Limits(),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_are_immutable_and_hashable(value: msgspec.Struct) -> None:
    """Section 1: no field can be set, equal values hash alike, and a copy through pickle is equal."""
    copy = pickle.loads(pickle.dumps(value))

    assert copy == value
    assert hash(copy) == hash(value)
    assert copy is not value
    with pytest.raises(AttributeError):
        setattr(value, value.__struct_fields__[0], None)


def test_containers_are_copied_and_frozen() -> None:
    """Section 1, H24: what the caller changes afterwards changes nothing that was made."""
    blocks, state, schema = [TextBlock("t")], {"blocks": [{"a": 1}]}, {"properties": {"a": {"enum": [1]}}}
    message = Message("assistant", blocks, replay_state=state)
    tool = ToolSpec("f", parameters=schema)
    blocks.append(TextBlock("u"))
    state["blocks"].append({})
    schema["properties"]["a"]["enum"].append(2)

    assert message.content == (TextBlock("t"),)
    assert message.replay_state == {"blocks": ({"a": 1},)}
    assert tool.parameters == {"properties": {"a": {"enum": (1,)}}}


def test_tuples_are_kept_as_they_are() -> None:
    """H2: what is immutable already is not copied."""
    content, messages, tools = (TextBlock("t"),), (user("Hi"),), (ToolSpec("f"),)
    state: FrozenDict[object] = FrozenDict({"v": 1})

    options = GenerateOptions("p", "m", messages, tools=tools)

    assert Message("user", content).content is content
    assert options.messages is messages
    assert options.tools is tools
    assert Message("assistant", content, replay_state=state).replay_state is state


def test_a_string_stands_for_one_block_or_one_stop() -> None:
    """Section 1: the short forms of content and of `stop` are the long ones."""
    content, stop = "Hi", "END"

    assert Message("user", content).content == (TextBlock("Hi"),)
    assert GenerateOptions("p", "m", [], stop=stop).stop == ("END",)


def test_the_short_ways_to_make_messages() -> None:
    """Section 1: `user`, `assistant`, `system` and `tool_result` make messages of text or of blocks."""
    source = ModelSource("p", "m")

    assert user([TextBlock("a"), IMAGE]) == Message("user", (TextBlock("a"), IMAGE))
    assert assistant("a", source=source) == Message("assistant", (TextBlock("a"),), source=source)
    assert system("a") == Message("system", (TextBlock("a"),))
    assert tool_result("c", "42") == Message("tool", (ToolResultBlock("c", "42"),))
    assert tool_result("c", [IMAGE], is_error=True) == Message("tool", (ToolResultBlock("c", (IMAGE,), True),))


def test_an_image_is_bytes_or_a_url() -> None:
    """Section 1: an image has exactly one of the two forms; a URL may stand alone."""
    assert ImageBlock("https://e.test/i.png") == ImageBlock(url="https://e.test/i.png")
    wrong: list[tuple[str | None, bytes | None, str | None]] = [
        (None, None, None),
        ("image/png", None, None),
        ("image/png", b"x", "https://e.test"),
        (None, b"x", None),
        ("", b"x", None),
    ]
    for fields in wrong:
        with pytest.raises(ValueError, match="an image"):
            ImageBlock(*fields)


def test_an_images_bytes_are_copied_where_they_could_change() -> None:
    """Section 1: values are immutable and hashable, whatever a socket or a file handed over."""
    buffer = bytearray(b"x")

    image = ImageBlock("image/png", buffer)  # type: ignore[arg-type]  # not everybody runs a checker
    buffer[:] = b"y"

    assert (image, hash(image)) == (IMAGE, hash(IMAGE))


def test_a_signal_is_no_part_of_a_request() -> None:
    """Section 1: two requests that differ in their signal are equal, hash alike, and pickle without it."""
    plain = GenerateOptions("p", "m", [user("Hi")], temperature=0.5)
    watched = msgspec.structs.replace(plain, signal=AbortController().signal)

    assert plain == watched
    assert hash(plain) == hash(watched)
    assert pickle.loads(pickle.dumps(watched)).signal is None
    assert plain != msgspec.structs.replace(plain, temperature=0.6)
    assert plain != "p"


@pytest.mark.parametrize("field", list(Timeouts.__struct_fields__))
@pytest.mark.parametrize("wrong", [0, -1, float("inf"), float("nan"), True, "10"])
def test_limits_of_time_are_positive_and_finite(field: str, wrong: object) -> None:
    """T1: each limit is a positive, finite number of seconds."""
    with pytest.raises(ValueError, match=f"timeouts.{field} is a positive, finite number of seconds, got"):
        Timeouts(**{field: wrong})  # type: ignore[arg-type]  # on purpose


def test_only_the_total_may_be_off() -> None:
    """T1: `total` is off by default, and no other limit can be."""
    assert Timeouts() == Timeouts(connect=10, first_event=600, idle_bytes=120, idle_event=600, total=None)
    with pytest.raises(ValueError, match=r"timeouts\.connect"):
        Timeouts(connect=None)  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize("field", list(Limits.__struct_fields__))
@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, None])
def test_limits_of_size_are_whole_and_positive(field: str, wrong: object) -> None:
    """S2: each limit is a whole number above 0."""
    with pytest.raises(ValueError, match=f"limits.{field} is a positive whole number, got"):
        Limits(**{field: wrong})  # type: ignore[arg-type]  # on purpose


def test_the_default_policy() -> None:
    """R9, H278: 5 retries, 500 ms doubling to 10 s, ± 10 %, and the codes that another try may mend."""
    assert RetryPolicy() == RetryPolicy("normal", 5, 500, 10_000, 0.1, RETRYABLE)
    assert RETRYABLE == (
        "TRANSPORT",
        "TIMEOUT",
        "RATE_LIMIT",
        "OVERLOADED",
        "SERVER",
        "STREAM_CLOSED",
        "EMPTY_RESPONSE",
    )
    # `always` repeats every failure, so the fields of `normal` do not count.
    assert RetryPolicy(mode="always", codes=()).codes == ()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: RetryPolicy(mode="sometimes"),  # type: ignore[arg-type]  # on purpose
        lambda: RetryPolicy(max_retries=-1),
        lambda: RetryPolicy(max_retries=1.5),  # type: ignore[arg-type]  # on purpose
        lambda: RetryPolicy(max_retries=True),
        lambda: RetryPolicy(max_retries=2**53),
        lambda: RetryPolicy(initial_delay_ms=0),
        lambda: RetryPolicy(initial_delay_ms=float("inf")),
        lambda: RetryPolicy(max_delay_ms=2**31),
        lambda: RetryPolicy(max_delay_ms="10"),  # type: ignore[arg-type]  # on purpose
        lambda: RetryPolicy(initial_delay_ms=20, max_delay_ms=10),
        lambda: RetryPolicy(jitter=1.1),
        lambda: RetryPolicy(jitter=-0.1),
        lambda: RetryPolicy(jitter=float("nan")),
        lambda: RetryPolicy(codes=()),
        lambda: RetryPolicy(codes=("SERVER", "SERVER")),
        lambda: RetryPolicy(codes=("SERVER", " ")),
        lambda: RetryPolicy(codes=("SERVER", 5)),  # type: ignore[arg-type]  # on purpose
    ],
)
def test_a_policy_that_cannot_be(wrong: Callable[[], RetryPolicy]) -> None:
    """R9, H279: values that no policy can have are refused when it is made."""
    with pytest.raises(ValueError, match=r".+"):
        wrong()


def test_a_policy_has_no_other_fields() -> None:
    """R9, H279: an unknown key of a policy is refused."""
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert({"retries": 3}, RetryPolicy)
