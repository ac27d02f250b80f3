"""Replay state: written, kept in its place, proved before use (R5, N4)."""

import msgspec
import pytest

from limen.adapters.kit import Item, StateWriter, json_object, read_items, read_state
from limen.contract import LlmError, Message, ReplayDrop, TextBlock, codes


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    seal: str | None = None
    after: tuple[str, ...] = ()


class _State(msgspec.Struct, frozen=True):
    blocks: tuple[_Entry | None, ...]
    before: tuple[str, ...] = ()


def _message(state: dict[str, object] | None) -> Message:
    return Message("assistant", [TextBlock("a"), TextBlock("b")], replay_state=state)


def test_state_holds_what_came_before_at_and_behind_blocks() -> None:
    """Entries stand at their block, items before the first block or behind the block they followed."""
    state = StateWriter("toy", 3)
    state.item('{"type":"x"}', behind=-1)
    state.at(1, {"seal": "s"})
    state.at(0, {})
    state.item('{"type":"y"}', behind=1)
    state.item('{"type":"z"}', behind=1)
    state.field("details", [1])

    assert state.state(2) == {
        "v": 3,
        "wire": "toy",
        "blocks": [None, {"seal": "s", "after": ['{"type":"y"}', '{"type":"z"}']}],
        "before": ['{"type":"x"}'],
        "details": [1],
    }


def test_a_turn_whose_blocks_say_all_has_no_state() -> None:
    """Nothing kept is no state."""
    state = StateWriter("toy", 1)
    state.at(0, None)

    assert state.state(1) is None


def test_state_is_read_or_reported() -> None:
    """State of another wire, version or block count counts as absent and is reported; none is nothing (R5)."""
    dropped: list[ReplayDrop] = []
    good = {"v": 1, "wire": "toy", "blocks": [None, {"seal": "s"}]}

    def read(state: dict[str, object] | None) -> _State | None:
        return read_state(_message(state), 4, _State, wire="toy", version=1, dropped=dropped)

    assert read(good) == _State((None, _Entry("s")))
    assert read(None) is None
    assert dropped == []
    assert [read({**good, "wire": "other"}), read({**good, "v": 2}), read({**good, "blocks": []})] == [None] * 3
    assert [drop.message_index for drop in dropped] == [4, 4, 4]


def test_state_that_was_changed_is_refused() -> None:
    """State of this version that does not validate is INVALID_REPLAY_STATE and names the message (R5)."""
    state: dict[str, object] = {"v": 1, "wire": "toy", "blocks": [None, {"seal": 7}]}
    with pytest.raises(LlmError, match=r"messages\[4\]\.replay_state does not validate: .*seal") as caught:
        read_state(_message(state), 4, _State, wire="toy", version=1, dropped=[])

    assert (caught.value.code, caught.value.failure.phase) == (codes.INVALID_REPLAY_STATE, "resolve")


def test_items_keep_their_bytes() -> None:
    """An item goes back as the text that it was kept as."""
    assert read_items(['{"type":"x", "n":1.0}'], "here") == (Item("x", msgspec.Raw(b'{"type":"x", "n":1.0}')),)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[]", "holds text that is not one JSON object"),
        ("\ud800", "holds text that is not one JSON object"),
        ("{}", "holds an item without a type"),
        ('{"type":7}', "holds an item without a type"),
        ('{"type":"text"}', "holds an item 'text', which would be a block of the message"),
    ],
)
def test_items_that_are_none(text: str, fault: str) -> None:
    """An item is one JSON object with a type that is no block's, or INVALID_REPLAY_STATE."""
    with pytest.raises(LlmError, match=fault) as caught:
        read_items([text], "messages[0].replay_state", blocks=("text",))
    assert caught.value.code == codes.INVALID_REPLAY_STATE


def test_json_object() -> None:
    """Members keep their bytes."""
    assert json_object('{"a":1.0}', "here") == {"a": msgspec.Raw(b"1.0")}
