"""Turns of this wire go back as they came: parts, order, signatures, ids (N4, R5)."""

import json

import pytest

from adapters.gemini._generate_wire import (
    MODERN,
    asking,
    body_of,
    call,
    chunk,
    contents_of,
    dropped,
    failure_of,
    read,
    stopped,
    text,
)
from limen.adapters.gemini._history import SKIP
from limen.contract import (
    GenerateOptions,
    ImageBlock,
    Message,
    ModelSource,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    assistant,
    codes,
    decode,
    encode,
    tool_result,
    user,
)

PNG64 = "iVBORw0KGgoAAAAAAAAAAAA="


def turn(body: bytes) -> Message:
    """The message of an answer, as an application keeps it: encoded and decoded."""
    message = read(body).response.message
    assert message is not None
    return decode(Message, encode(message))


def sent(*messages: Message, model: str = MODERN) -> list[dict[str, object]]:
    """The contents of a request with this history."""
    found = contents_of(asking(*messages, model=model))
    assert isinstance(found, list)
    return found


def after(message: Message, model: str = MODERN) -> list[dict[str, object]]:
    """The contents of the turn after a turn, its calls answered."""
    results = [tool_result(one.id, "done") for one in message.content if isinstance(one, ToolCallBlock)]
    return sent(user("q"), message, *results, *([] if results else [user("and?")]), model=model)


def test_parallel_calls_with_signatures_go_back_byte_for_byte() -> None:
    """Thoughts, signed and unsigned calls, native ids and the empty signed end, in one content, in their order."""
    parts = [
        text("plan", thought=True),
        text("I look. "),
        call("f", {"a": 1.50}, "n1", thoughtSignature="c2ln"),
        call("g", {"b": "x"}, "n2"),
        text("", thoughtSignature="ZW5k"),
    ]
    body = chunk(*parts[:2]) + chunk(parts[2]) + chunk(parts[3]) + chunk(parts[4], finishReason="STOP")

    found = after(turn(body))

    assert found[1] == {"role": "model", "parts": parts}
    assert found[2] == {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": "n1", "name": "f", "response": {"output": "done"}}},
            {"functionResponse": {"id": "n2", "name": "g", "response": {"output": "done"}}},
        ],
    }
    raw = json.dumps(body_of(asking(user("q"), turn(body), tool_result("n1", "1"), tool_result("n2", "2"))))
    assert '"args": {"a": 1.5}' in raw


def test_made_ids_are_not_sent() -> None:
    """Where the wire gave no id, call and result have none (Q079)."""
    found = after(turn(chunk(call("f", {}, thoughtSignature="c2ln"), call("f", {})) + stopped()))

    assert found[1]["parts"] == [call("f", {}, thoughtSignature="c2ln"), call("f", {})]
    assert "id" not in json.dumps(found[2])


def test_parts_keep_their_order_and_their_cuts() -> None:
    """Text around a call, a signed piece, an image and code go back where they stood, unsigned pieces joined."""
    image = {"inlineData": {"mimeType": "image/png", "data": PNG64}, "thoughtSignature": "aW1n"}
    code = {"executableCode": {"language": "PYTHON", "code": "print( 1 )"}, "thoughtSignature": "Y29k"}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}
    unknown = {"hologram": {"depth": [1, 2.50]}}
    body = (
        chunk(text("a"))
        + chunk(text("b"), code)
        + chunk(result, text("c", thoughtSignature="Yw=="), text("d"))
        + chunk(call("f", {}), unknown, image, text("e"), text("f"))
        + stopped()
    )
    found = after(turn(body))

    assert found[1]["parts"] == [
        text("ab"),
        code,
        result,
        text("c", thoughtSignature="Yw=="),
        text("d"),
        call("f", {}),
        unknown,
        image,
        text("ef"),
    ]


def test_steps_of_the_host_are_not_sent() -> None:
    """A signature without any data, and steps of media processing, do not go back: Vertex refuses them."""
    body = chunk({"thoughtSignature": "bWVkaWE="}, {"mediaProcessing": {"a": 1}}, text("seen")) + stopped()

    assert after(turn(body))[1]["parts"] == [text("seen")]


def test_a_plain_turn_needs_no_state() -> None:
    """Text and calls without marks say all by themselves."""
    message = turn(chunk(text("a"), call("f", {}), call("g", {})) + stopped())

    assert message.replay_state is None


def test_a_turn_that_a_limit_cut_keeps_its_parts_without_calls() -> None:
    """The calls leave the history, and the places of the other parts follow (C17)."""
    body = (
        chunk(text("think", thought=True), call("f", {}, "n1", thoughtSignature="c2ln"))
        + chunk(text("half"), call("g", {}))
        + stopped("MAX_TOKENS")
    )
    message = turn(body)

    assert message.content == (ReasoningBlock("think"), TextBlock("half"))
    assert after(message)[1]["parts"] == [text("think", thought=True), text("half")]


def test_a_continuation_goes_on() -> None:
    """A history that ends with a turn of CONTINUATION is the request again with the token; a later one is plain."""
    body = chunk(text("first"), finishReason="CONTINUATION", continuationToken="dG9r")
    message = turn(body)
    again = body_of(asking(user("q"), message))
    later = body_of(asking(user("q"), message, user("more")))

    assert (again["continuationToken"], again["contents"]) == ("dG9r", [{"role": "user", "parts": [text("q")]}])
    assert "continuationToken" not in later
    assert later["contents"] == [
        {"role": "user", "parts": [text("q")]},
        {"role": "model", "parts": [text("first")]},
        {"role": "user", "parts": [text("more")]},
    ]


def test_a_continuation_without_text_goes_on() -> None:
    """A turn that has nothing but its token is not in the history, and the token is."""
    message = Message(
        "assistant", (), replay_state={"v": 1, "wire": "gemini-generate", "blocks": [], "continuation": "t"}
    )
    found = body_of(asking(user("q"), message))

    assert (found["continuationToken"], found["contents"]) == ("t", [{"role": "user", "parts": [text("q")]}])


def test_state_of_another_model_is_not_sent() -> None:
    """Signatures belong to the model that made them; without them a call has Google's placeholder, and it is told."""
    message = turn(chunk(text("hm", thought=True), call("f", {}, "n1", thoughtSignature="c2ln")) + stopped())
    moved = Message(
        message.role, message.content, source=ModelSource("p", "gemini-3-pro"), replay_state=message.replay_state
    )
    options = asking(user("q"), moved, tool_result("n1", "x"), model=MODERN)

    assert sent(user("q"), moved, tool_result("n1", "x"))[1]["parts"] == [call("f", {}, thoughtSignature=SKIP)]
    assert [one.reason.partition(" ")[0] for one in dropped(options)] == ["the", "1"]
    kept = Message(message.role, message.content, source=ModelSource("p", MODERN), replay_state=message.replay_state)
    assert dropped(asking(user("q"), kept, tool_result("n1", "x"), model=MODERN)) == []


def test_foreign_turns() -> None:
    """Turns of another wire: a step's first call has the placeholder from Gemini 3 on; thoughts are left out."""
    foreign = assistant(
        [
            ReasoningBlock("secret"),
            TextBlock(""),
            ToolCallBlock("call_1", "f", "{}"),
            ToolCallBlock("call_2", "g", "{}"),
        ]
    )
    results = [tool_result("call_1", "1"), tool_result("call_2", "2")]
    found = sent(user("q"), foreign, *results)

    assert found[1]["parts"] == [call("f", {}, thoughtSignature=SKIP), call("g", {})]
    assert "call_1" not in json.dumps(found)
    assert sent(user("q"), foreign, *results, model="gemini-2.5-pro")[1]["parts"] == [call("f", {}), call("g", {})]
    assert len(dropped(asking(user("q"), foreign, *results))) == 1
    thinking = assistant([ReasoningBlock("only")])
    assert sent(user("q"), thinking, user("b")) == [{"role": "user", "parts": [text("q"), text("b")]}]


def test_an_image_of_an_earlier_turn() -> None:
    """An image that a model made goes back in its turn."""
    made = assistant([TextBlock("see"), ImageBlock("image/png", b"\x89PNG\r\n\x1a\n" + bytes(9))])

    assert sent(user("q"), made, user("b"))[1]["parts"] == [
        text("see"),
        {"inlineData": {"mimeType": "image/png", "data": PNG64}},
    ]


def state(**fields: object) -> Message:
    """A turn of three blocks with this state."""
    blocks = (ReasoningBlock("hm"), TextBlock("ab"), ToolCallBlock("c1", "f", "{}"))
    base = {"v": 1, "wire": "gemini-generate", "blocks": [None, None, None]}
    return Message("assistant", blocks, replay_state={**base, **fields})


def asked(message: Message) -> GenerateOptions:
    """Options whose history holds that turn."""
    return asking(user("q"), message, tool_result("c1", "x"), model=MODERN)


GOOD = [{"block": 0, "length": 2}, {"block": 1, "length": 2}, {"block": 2}]


@pytest.mark.parametrize(
    "fields",
    [
        {"blocks": [{"id": "x"}, None, None]},
        {"blocks": [{"other": "x"}, None, None]},
        {"parts": GOOD[:2]},
        {"parts": [*GOOD, {"block": 2}]},
        {"parts": [*GOOD, {"block": 3}]},
        {"parts": [*GOOD, {"block": -1}]},
        {"parts": [*GOOD, {"signature": "x"}]},
        {"parts": [*GOOD, {"raw": "[1]"}]},
        {"parts": [*GOOD, {"raw": "no json"}]},
        {"parts": [{"block": 0, "length": 3}, *GOOD[1:]]},
        {"parts": [{"block": 0, "length": 0}, *GOOD]},
        {"parts": [{"block": 0, "length": -1}, *GOOD]},
        {"parts": [{"block": 0}, *GOOD]},
        {"parts": "all"},
        {"surplus": 1},
    ],
)
def test_R5_state_that_does_not_validate(fields: dict[str, object]) -> None:
    """State of this version that was changed on its way is INVALID_REPLAY_STATE."""
    assert failure_of(lambda: body_of(asked(state(**fields)))).code == codes.INVALID_REPLAY_STATE


@pytest.mark.parametrize("fields", [{"v": 2}, {"wire": "other"}, {"blocks": [None]}])
def test_R5_state_of_another_kind_is_absent(fields: dict[str, object]) -> None:
    """Another version, wire or block count counts as absent, and is reported."""
    options = asked(state(parts=GOOD, **fields))

    assert sent(*options.messages)[1]["parts"] == [text("ab"), call("f", {}, thoughtSignature=SKIP)]
    assert len(dropped(options)) == 2


def test_R5_good_state_is_used() -> None:
    """State without parts, and with them, gives the turn's own parts."""
    expected = [text("hm", thought=True), text("ab"), call("f", {})]

    assert sent(*asked(state(parts=GOOD)).messages)[1]["parts"] == expected
    assert sent(*asked(state()).messages)[1]["parts"] == expected


def test_results_of_several_messages_are_one_content() -> None:
    """Results that come in several messages are joined, in the order of the calls, before other parts."""
    message = turn(chunk(call("f", {}, "n1"), call("g", {}, "n2")) + stopped())
    both = Message("user", (TextBlock("note"), ToolResultBlock("n1", "1")))
    found = sent(user("q"), message, tool_result("n2", "2"), both, model="gemini-2.5-pro")

    assert [next(iter(part)) for content in found[2:] for part in content["parts"]] == [  # type: ignore[attr-defined]
        "functionResponse",
        "functionResponse",
        "text",
    ]
