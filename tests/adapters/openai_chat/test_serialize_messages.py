"""How a history becomes chat-completions messages (Q4, C8, C9, N4)."""

import base64
from typing import Any

import pytest

from chat_requests import ADD, PNG, body_of, messages_of, refusal, tool_turn
from limen.adapters import BuildContext
from limen.adapters.openai_chat import WIRE
from limen.contract import (
    GenerateOptions,
    ImageBlock,
    Message,
    ModelInfo,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    assistant,
    codes,
    system,
    tool_result,
    user,
)

DATA_URL = "data:image/png;base64," + base64.b64encode(b"\x89PNG").decode()
PICTURE = {"type": "image_url", "image_url": {"url": DATA_URL}}


def text_part(text: str) -> dict[str, str]:
    """Return a text part."""
    return {"type": "text", "text": text}


def test_system_text_comes_first_and_messages_keep_their_order() -> None:
    """`system` precedes the history; system messages stay where they are (Q4)."""
    found = messages_of("generic", user("a"), system("late"), assistant("b"), user([]), system="first")
    assert found == [
        {"role": "system", "content": "first"},
        {"role": "user", "content": "a"},
        {"role": "system", "content": "late"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": ""},
    ]


def test_openai_calls_the_system_developer() -> None:
    """The row names the role of system text; only OpenAI's is `developer` (openai-chat)."""
    found = messages_of("openai", system("late"), user("a"), system="first")
    assert [message["role"] for message in found] == ["developer", "developer", "user"]


def test_Q140_text_blocks_join_into_one_string() -> None:
    """Text alone is a string in every role, because strict servers refuse lists of parts."""
    texts = (TextBlock("a"), TextBlock("b"))
    history = (*tool_turn(result=texts), *(Message(role, texts) for role in ("system", "user", "assistant")))
    contents = [message["content"] for message in messages_of("generic", *history)]
    assert contents == ["q", "t", "ab", "ab", "ab", "ab"]


def test_images_and_text_keep_their_order() -> None:
    """A message with an image is a list of parts in the order of its blocks; bytes are a data URL (Q4)."""
    address = ImageBlock(url="https://x.test/a.png")
    found = messages_of("generic", user([TextBlock("a"), PNG, TextBlock("b"), address]))
    assert found[0]["content"] == [
        text_part("a"),
        PICTURE,
        text_part("b"),
        {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}},
    ]


def test_Q141_content_beside_calls_is_never_null() -> None:
    """Beside calls alone content is empty, or left out where the row says so (Q3)."""
    call = Message("assistant", (ToolCallBlock("call_1", "add", "{}"),))
    history = (user("q"), call, tool_result("call_1", "1"))
    turns = {name: messages_of(name, *history)[1] for name in ("generic", "moonshot")}
    assert (turns["generic"]["content"], "content" in turns["moonshot"]) == ("", False)


def test_a_turn_of_reasoning_only_has_empty_content() -> None:
    """An assistant turn without text and calls still has content (openai-compat-dialects, DeepSeek)."""
    found = messages_of("deepseek", user("q"), Message("assistant", (ReasoningBlock("r"),)))
    assert found[1] == {"role": "assistant", "content": "", "reasoning_content": "r"}


@pytest.mark.parametrize("arguments", ['{"a": 1, "a": 2}', "{not json", '{"id": 12345678901234567890123}'])
def test_C8_arguments_are_sent_as_they_are(arguments: str) -> None:
    """A wire of strings gets the string as it is, valid or not, digits and white space kept (C8, Q202)."""
    call = Message("assistant", (ToolCallBlock("call_1", "add", arguments),))
    found = messages_of("generic", user("q"), call, tool_result("call_1", "1"))
    assert found[1]["tool_calls"][0]["function"]["arguments"] == arguments


@pytest.mark.parametrize("arguments", ["", " ", "\n"])
def test_Q199_empty_arguments_become_an_object(arguments: str) -> None:
    """Empty arguments are `{}` on every wire (C8)."""
    call = Message("assistant", (ToolCallBlock("call_1", "now", arguments),))
    found = messages_of("generic", user("q"), call, tool_result("call_1", "1"))
    assert found[1]["tool_calls"] == [
        {"id": "call_1", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    ]


def test_an_error_result_is_marked() -> None:
    """The wire has no field for `is_error`, so the text says it (Q4)."""
    found = [messages_of("generic", *tool_turn(result=what, is_error=True))[2] for what in ("no", (TextBlock("no"),))]
    assert found == [{"role": "tool", "tool_call_id": "call_1", "content": "Error: no"}] * 2


def test_parallel_results_and_their_images() -> None:
    """Images of neighbouring results follow the last of them in one user message, each call named (Q4)."""
    calls = tuple(ToolCallBlock(f"c{index}", "look", "{}") for index in range(3))
    history = (
        user("q"),
        Message("assistant", calls),
        tool_result("c0", [TextBlock("a"), PNG]),
        tool_result("c1", "plain"),
        tool_result("c2", [PNG], is_error=True),
        assistant("done"),
    )
    found = messages_of("generic", *history)
    assert found[2:] == [
        {"role": "tool", "tool_call_id": "c0", "content": "a"},
        {"role": "tool", "tool_call_id": "c1", "content": "plain"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: "},
        {
            "role": "user",
            "content": [
                text_part("Images that the tool call c0 returned:"),
                PICTURE,
                text_part("Images that the tool call c2 returned:"),
                PICTURE,
            ],
        },
        {"role": "assistant", "content": "done"},
    ]


def test_images_of_results_at_the_end_and_before_a_question() -> None:
    """The images come before whatever follows the results, also at the history's end."""
    at_end = messages_of("generic", *tool_turn(result=[PNG]))
    before = messages_of("generic", *tool_turn(result=[PNG]), user("and?"))
    assert at_end[2]["content"] == "The result is the images in the next user message."
    assert before == [*at_end, {"role": "user", "content": "and?"}]


def test_mistral_takes_images_inside_the_tool_message() -> None:
    """Where the row says so, the images stay with their result, and the result names its function (Mistral)."""
    found = [messages_of("mistral", *tool_turn("abcdefgh1", result)) for result in ([PNG], [TextBlock("a"), PNG])]
    assert [one[2] for one in found] == [
        {"role": "tool", "tool_call_id": "abcdefgh1", "name": "add", "content": [PICTURE]},
        {"role": "tool", "tool_call_id": "abcdefgh1", "name": "add", "content": [text_part("a"), PICTURE]},
    ]


def test_a_user_message_may_hold_results_and_text() -> None:
    """Results of a user message become tool messages before its own text (Q4)."""
    asked, called, _ = tool_turn()
    mixed = user([TextBlock("and now?"), ToolResultBlock("call_1", "42")])
    assert messages_of("generic", asked, called, mixed)[2:] == [
        {"role": "tool", "tool_call_id": "call_1", "content": "42"},
        {"role": "user", "content": "and now?"},
    ]


def test_a_tool_message_without_results_says_nothing() -> None:
    """It is nobody's turn, so no turn is made up for it (Q4)."""
    assert messages_of("generic", user("a"), Message("tool", ())) == [{"role": "user", "content": "a"}]


class TestToolIds:
    """Ids that a dialect refuses are rewritten in the request only (C9)."""

    def test_an_id_that_fits_is_kept(self) -> None:
        """What the dialect takes is sent verbatim."""
        found = messages_of("openai", *tool_turn("call_" + "x" * 35))
        assert found[1]["tool_calls"][0]["id"] == found[2]["tool_call_id"] == "call_" + "x" * 35

    @pytest.mark.parametrize(
        ("dialect", "call_id", "length"),
        [("openai", "functions.add:0", 24), ("openai", "x" * 41, 24), ("azure", "a|b", 24), ("mistral", "call_1", 9),
         ("mistral", "", 9), ("mistral", "\ud800", 9)],
    )  # fmt: skip
    def test_another_is_rewritten_call_and_result_alike(self, dialect: str, call_id: str, length: int) -> None:
        """The same id gives the same new one, in every request."""
        first, again = (messages_of(dialect, *tool_turn(call_id)) for _ in range(2))
        made = first[1]["tool_calls"][0]["id"]
        assert (len(made), made.isascii() and made.isalnum()) == (length, True)
        assert (first[2]["tool_call_id"], again) == (made, first)

    def test_two_ids_never_become_one(self) -> None:
        """The mapping is injective, also where a made id meets one that somebody else already has."""
        made = messages_of("mistral", *tool_turn("call_1"))[2]["tool_call_id"]
        first = messages_of("mistral", *tool_turn(made), *tool_turn("call_1"))
        second = messages_of("mistral", *tool_turn("call_1"), *tool_turn(made))
        pairs = [(found[2]["tool_call_id"], found[5]["tool_call_id"]) for found in (first, second)]
        assert [len(set(pair)) for pair in pairs] == [2, 2]
        assert (pairs[0][0], pairs[1][0]) == (made, made)


@pytest.mark.parametrize("dialect", ["minimax", "perplexity"])
def test_Q110_neighbours_of_one_role_become_one_where_roles_alternate(dialect: str) -> None:
    """Strict rows get merged turns, without a word lost; a system message is left alone."""
    history = (system("s"), user("a"), user([TextBlock("b"), PNG]), user([]), assistant("c"), assistant(""), user(""))
    found = messages_of(dialect, *history, user("d"))
    assert found == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [text_part("a"), text_part("b"), PICTURE]},
        {"role": "assistant", "content": "c"},
        {"role": "user", "content": "d"},
    ]


def test_merged_texts_are_apart_and_calls_end_a_turn() -> None:
    """Two texts get a blank line between them; nothing joins a turn that made calls (Q110)."""
    history = (user("a"), user("b"), assistant("c"), *tool_turn()[1:], assistant("d"), assistant("e"))
    roles = [(one["role"], one["content"]) for one in messages_of("minimax", *history)]
    assert roles == [("user", "a\n\nb"), ("assistant", "c\n\nt"), ("tool", "42"), ("assistant", "d\n\ne")]


class TestImagesRefused:
    """Images are refused before any I/O where the dialect or the model does not take them (Q155)."""

    def test_by_address_where_only_bytes_are_taken(self) -> None:
        """Ollama takes data URLs only, and says so before the request."""
        error = refusal("ollama", messages=[user([ImageBlock(url="https://x.test/a.png")])])
        assert (error.code, error.failure.message) == (
            codes.UNSUPPORTED_CONTENT,
            "messages[0].content[0] cannot be sent to route/m (dialect ollama): "
            "it takes images as bytes only, not by address",
        )

    def test_by_a_models_facts(self) -> None:
        """A model that is known to take text only gets no image, nested ones included."""
        model = ModelInfo("route", "m", "m", input_modalities=("text",))
        error = refusal("generic", model=model, messages=tool_turn(result=[TextBlock("a"), PNG]))
        assert error.failure.message == (
            "messages[2].content[0].content[1] cannot be sent to route/m (dialect generic): it takes no images"
        )

    def test_where_only_known_models_take_them(self) -> None:
        """DeepSeek's text models refuse images, so a model must be known to take them."""
        messages = [user([PNG])]
        vision = ModelInfo("route", "m", "m", input_modalities=("text", "image"))
        assert "input_modalities" in str(refusal("deepseek", messages=messages))
        assert body_of("deepseek", model=vision, messages=messages)["messages"][0]["content"] == [PICTURE]


def test_an_unknown_role_is_refused() -> None:
    """A role that the vocabulary does not have is wrong by itself."""
    role: Any = "developer"
    error = refusal(messages=[Message(role, (TextBlock("a"),))])
    assert (error.code, "messages[0].role" in error.failure.message) == (codes.INVALID_OPTIONS, True)


def test_Q8_lone_surrogates_become_replacement_characters() -> None:
    """Half an emoji is U+FFFD on the wire, also in tool results and arguments (Q093)."""
    found = messages_of("generic", user("hi \udc9d"), *tool_turn(result="\ud83d"))
    assert (found[0]["content"], found[3]["content"]) == ("hi \ufffd", "\ufffd")


def test_a_long_history_is_linear() -> None:
    """Every message is written once: the size of the body grows with the history and nothing else."""
    turn = tool_turn()
    sizes = [len(body_of("openai", messages=turn * count, tools=[ADD])["messages"]) for count in (1, 100)]
    assert sizes == [3, 300]


def test_the_callers_messages_are_not_changed() -> None:
    """Serializing leaves the request as it was, marks and merges included (N2)."""
    messages = (user("a"), user([TextBlock("b"), PNG]), *tool_turn(result=[PNG]))
    options = GenerateOptions("route", "m", messages, cache="short")
    before = GenerateOptions("route", "m", tuple(messages), cache="short")
    context = BuildContext()
    bodies = {WIRE.codec("openrouter").build(options, context).body for _ in range(2)}
    assert (options == before, len(bodies), context.replay_dropped) == (True, 1, [])
