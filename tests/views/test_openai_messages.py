"""Histories in the shape of OpenAI's chat completions: carried, refused by path, or reported; never lost in silence."""

from base64 import b64encode
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import limen

PIXEL = b64encode(b"png").decode()
CALL: Mapping[str, object] = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}

WIRE: list[dict[str, object]] = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "Look:"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
            {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}},
            {"type": "input_audio", "input_audio": {"data": PIXEL, "format": "mp3"}},
            {"type": "file", "file": {"file_id": "file-1"}},
            {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PIXEL}", "filename": "a.pdf"}},
        ],
    },
    {"role": "assistant", "content": "Adding.", "reasoning_content": "Hm.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "3"},
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "4"}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
]
MESSAGES = [
    limen.system("Be brief."),
    limen.user(
        [
            limen.TextBlock("Look:"),
            limen.ImageBlock("image/png", b"png"),
            limen.ImageBlock(url="https://a.example/b.png"),
            limen.FileBlock("audio/mpeg", b"png"),
            limen.FileBlock(file_id="file-1"),
            limen.FileBlock("application/pdf", b"png", "a.pdf"),
        ]
    ),
    limen.assistant(
        [limen.ReasoningBlock("Hm."), limen.TextBlock("Adding."), limen.ToolCallBlock("c1", "add", '{"a":1}')]
    ),
    limen.tool_result("c1", "3"),
    limen.tool_result("c2", [limen.TextBlock("4")]),
    limen.assistant([limen.ToolCallBlock("c1", "add", '{"a":1}')]),
]


def test_every_part_is_carried_both_ways() -> None:
    """Texts, images, sounds, files, reasoning, calls and results are carried, and come back as they were."""
    assert limen.messages_from_openai(WIRE) == MESSAGES
    assert limen.messages_to_openai(MESSAGES) == WIRE


class Dumped:
    """An object of OpenAI's own client: pydantic's `model_dump` writes every field, the unset ones as `None`."""

    def model_dump(self) -> dict[str, object]:
        return {
            "role": "assistant",
            "content": "42",
            "refusal": None,
            "annotations": [],
            "audio": None,
            "function_call": None,
            "tool_calls": None,
        }


def test_shorter_and_older_forms_are_read() -> None:
    """The client's own objects, a developer's turn, a refusal, a bare image address and a tool's name are read."""
    history: Sequence[object] = [
        Dumped(),
        {"role": "developer", "content": "x"},
        {"role": "assistant", "refusal": "No."},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}], "reasoning": "Why?"},
        {"role": "user", "content": [{"type": "image_url", "image_url": "https://a.example/b.png"}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a/b", "detail": "auto"}}]},
        {"role": "tool", "tool_call_id": "c", "name": "add", "content": "3"},
        {"role": "assistant", "tool_calls": [{"index": 0, "id": "c", "function": {"name": "now", "arguments": ""}}]},
    ]

    assert limen.messages_from_openai(history) == [
        limen.assistant("42"),
        limen.system("x"),
        limen.assistant("No."),
        limen.assistant([limen.ReasoningBlock("Why?"), limen.TextBlock("No.")]),
        limen.user([limen.ImageBlock(url="https://a.example/b.png")]),
        limen.user([limen.ImageBlock(url="https://a/b")]),
        limen.tool_result("c", "3"),
        limen.assistant([limen.ToolCallBlock("c", "now", "")]),
    ]


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ("hello", "messages[0]: an object is expected, not str"),
        ({"role": "function", "content": "x"}, "messages[0].role: it is system, developer, user, assistant or tool"),
        ({"role": "user"}, "messages[0].content: a text or a list of parts is expected, not NoneType"),
        ({"role": "user", "content": [{"type": "video"}]}, "messages[0].content[0].type: limen has no block"),
        ({"role": "user", "content": [{"type": "text", "text": 3}]}, "messages[0].content[0].text: a text is expected"),
        ({"role": "tool", "content": "x"}, "messages[0].tool_call_id: a text is expected, not NoneType"),
        (
            {"role": "tool", "tool_call_id": "c", "content": [{"type": "file", "file": {"file_id": "f"}}]},
            "messages[0].content[0]: a tool's result holds texts and images",
        ),
        ({"role": "assistant", "tool_calls": "x"}, "messages[0].tool_calls: a list is expected, not str"),
        ({"role": "assistant", "tool_calls": [{"type": "custom"}]}, "messages[0].tool_calls[0].type: limen has"),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png,x"}}]},
            "messages[0].content[0].image_url.url: a data URL is expected",
        ),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,?"}}]},
            "messages[0].content[0].image_url.url: this is not base64",
        ),
        (
            {"role": "user", "content": [{"type": "file", "file": {}}]},
            "messages[0].content[0].file: a file has either file_id or file_data",
        ),
    ],
)
def test_what_is_malformed_is_refused_by_its_path(message: object, path: str) -> None:
    """A malformed message is `INVALID_OPTIONS` with its path, also where losses are only reported."""
    with pytest.raises(limen.LlmError) as caught:
        limen.messages_from_openai([message], on_loss=lambda _: None)

    assert caught.value.code == "INVALID_OPTIONS"
    assert caught.value.failure.message.startswith(path)


def test_a_history_is_a_list() -> None:
    """One message in place of a list is refused, not read letter by letter."""
    with pytest.raises(limen.LlmError, match="a history is a list of messages"):
        limen.messages_from_openai("hello")


def test_what_limen_has_no_place_for_is_refused_or_reported() -> None:
    """A field without a place is refused with its path, or reported and left out."""
    history = [
        {
            "role": "user",
            "name": "ann",
            "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}],
        },
        {"role": "assistant", "content": "y", "annotations": [{"type": "url_citation"}]},
    ]
    lost: list[str] = []

    with pytest.raises(limen.LlmError, match=r"messages\[0\].content\[0\].cache_control: limen has no place"):
        limen.messages_from_openai(history)
    found = limen.messages_from_openai(history, on_loss=lost.append)

    assert found == [limen.user("x"), limen.assistant("y")]
    assert lost == [
        "messages[0].content[0].cache_control: limen has no place for this field",
        "messages[0].name: limen has no place for this field",
        "messages[1].annotations: limen has no place for this field",
    ]


def test_what_the_other_shape_has_no_place_for_is_refused_or_reported() -> None:
    """Replay state, an error's mark, pictures in results, files by address and another order are named."""
    messages = [
        limen.Message("assistant", [limen.TextBlock("x")], replay_state={"v": 1}),
        limen.assistant([limen.ToolCallBlock("c", "f", "{}"), limen.TextBlock("after")]),
        limen.Message(
            "tool",
            [limen.ToolResultBlock("c", [limen.TextBlock("t"), limen.ImageBlock(url="https://a/b")], is_error=True)],
        ),
        limen.user([limen.FileBlock(url="https://a/b.pdf"), limen.FileBlock("audio/wav", b"w", "a.wav")]),
        limen.user([limen.ToolCallBlock("c", "f", "{}")]),
    ]
    lost: list[str] = []

    with pytest.raises(limen.LlmError, match=r"messages\[0\].replay_state: .*give on_loss="):
        limen.messages_to_openai(messages)
    wire = limen.messages_to_openai(messages, on_loss=lost.append)

    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    sound = {"type": "input_audio", "input_audio": {"data": b64encode(b"w").decode(), "format": "wav"}}
    assert wire == [
        {"role": "assistant", "content": "x"},
        {"role": "assistant", "content": "after", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "t"}]},
        {"role": "user", "content": [sound]},
        {"role": "user", "content": []},
    ]
    assert [line.partition(":")[0] for line in lost] == [
        "messages[0].replay_state",
        "messages[1].content",
        "messages[2].content[0].is_error",
        "messages[2].content[0]",
        "messages[3].content[0]",
        "messages[3].content[1].name",
        "messages[4].content[0]",
    ]


def test_a_tool_message_without_a_result_is_refused() -> None:
    """A message of role tool that holds text is malformed, and named."""
    with pytest.raises(limen.LlmError, match=r"messages\[0\].content\[0\]: a tool's message holds results"):
        limen.messages_to_openai([limen.Message("tool", "x")])


TEXTS = st.text(min_size=1, max_size=20)
USERS = st.builds(limen.user, TEXTS | st.lists(st.builds(limen.TextBlock, TEXTS), min_size=1, max_size=3))
TURNS = st.builds(
    lambda thought, text, calls: limen.assistant([*thought, *text, *calls]),
    st.lists(st.builds(limen.ReasoningBlock, TEXTS), max_size=1),
    st.lists(st.builds(limen.TextBlock, TEXTS), min_size=1, max_size=2),
    st.lists(st.builds(limen.ToolCallBlock, TEXTS, TEXTS, st.text(max_size=9)), max_size=2),
)
RESULTS = st.builds(limen.tool_result, TEXTS, st.text(max_size=9))


@settings(max_examples=40)
@given(st.lists(USERS | TURNS | RESULTS, max_size=6))
def test_a_history_comes_back_as_it_went(messages: list[limen.Message]) -> None:
    """Messages that the other shape can hold are the same after going there and back."""
    assert limen.messages_from_openai(limen.messages_to_openai(messages)) == messages
