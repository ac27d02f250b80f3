"""Q8, S2, S5: JSON in and out, whatever Python lets one put into a value and whatever bytes arrive."""

import copy
import math
import pickle
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.contract import (
    MAX_DEPTH,
    FrozenDict,
    TooDeep,
    dumps,
    freeze,
    freeze_object,
    json_fault,
    loads,
    replace_surrogates,
)

ANYTHING = msgspec.json.Decoder()


def nested(depth: int) -> Any:
    """Lists in lists."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "change",
    [
        lambda frozen: frozen.__setitem__("a", 2),
        lambda frozen: frozen.__delitem__("a"),
        lambda frozen: frozen.clear(),
        lambda frozen: frozen.pop("a"),
        lambda frozen: frozen.popitem(),
        lambda frozen: frozen.setdefault("b", 1),
        lambda frozen: frozen.update(b=1),
        lambda frozen: frozen.__ior__({"b": 1}),
    ],
)
def test_a_frozen_dict_cannot_be_changed(change: Any) -> None:
    """Section 1: every way to change a dict is refused."""
    frozen: FrozenDict[int] = FrozenDict({"a": 1})

    with pytest.raises(TypeError, match="immutable"):
        change(frozen)
    assert frozen == {"a": 1}


def test_a_frozen_dict_is_a_value() -> None:
    """Section 1: equal to a plain dict, hashable, and its own copy."""
    frozen: FrozenDict[object] = FrozenDict({"a": (1, 2)})

    assert hash(frozen) == hash(FrozenDict({"a": (1, 2)}))
    assert pickle.loads(pickle.dumps(frozen)) == frozen
    assert copy.copy(frozen) is frozen
    assert copy.deepcopy(frozen) is frozen


def test_freezing_goes_all_the_way_down() -> None:
    """Section 1: lists become tuples and dicts frozen ones, at every level; what is frozen already is kept."""
    inner: FrozenDict[object] = FrozenDict({"k": 1})
    frozen = freeze({"a": [{"b": [1]}, inner], "c": "x"})

    assert frozen == {"a": ({"b": (1,)}, {"k": 1}), "c": "x"}
    assert isinstance(frozen, FrozenDict)
    assert frozen["a"][1] is inner
    assert freeze_object(inner) is inner
    assert freeze(5) == 5


def test_a_frozen_array_is_a_tuple_that_equals_a_list() -> None:
    """A JSON array of a value cannot be changed, hashes as a tuple, and compares with what it was made of."""
    frozen = freeze({"a": [1, {"b": [2]}]})
    array = freeze([1, 2])

    assert frozen == {"a": [1, {"b": [2]}]}
    assert frozen == {"a": (1, {"b": (2,)})}
    assert frozen != {"a": [1, {"b": [3]}]}
    assert (array == [1, 2], array == (1, 2), array != [1, 2], array == 3) == (True, True, False, False)
    assert (isinstance(array, tuple), hash(array)) == (True, hash((1, 2)))
    assert pickle.loads(pickle.dumps(frozen)) == frozen


def test_what_cannot_be_frozen() -> None:
    """Section 1, S2: a key that is no string, nesting past the limit and a cycle are refused."""
    cycle: list[object] = []
    cycle.append(cycle)

    with pytest.raises(ValueError, match="keys are strings, got int"):
        freeze({1: 2})
    with pytest.raises(ValueError, match="nested more than 128 levels"):
        freeze(cycle)
    with pytest.raises(ValueError, match="nested more than 128 levels"):
        freeze_object({"a": nested(MAX_DEPTH)})
    assert freeze(nested(MAX_DEPTH)) is not None


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (None, None),
        ({"a": [1, 1.5, True, "x", None, (2,)]}, None),
        (math.nan, "$ is nan, which JSON has no word for"),
        ({"a": [1, -math.inf]}, "$.a[1] is -inf, which JSON has no word for"),
        ({"a": b"x"}, "$.a is a bytes, which is not JSON"),
        ([object], "$[0] is a type, which is not JSON"),
    ],
)
def test_where_data_is_not_json(value: object, fault: str | None) -> None:
    """Q8: the first place where data is not JSON is named."""
    assert json_fault(value) == fault


@pytest.mark.parametrize(
    ("text", "clean"),
    [("plain", "plain"), ("\ud83d", "\ufffd"), ("a\udc00b", "a\ufffdb"), ("\ud83d\ude00", "😀"), ("😀", "😀")],
)
def test_lone_surrogates_are_replaced_on_the_way_out(text: str, clean: str) -> None:
    """Q8: what is no Unicode becomes U+FFFD, in keys and values at every level; a split pair is joined."""
    assert replace_surrogates(text) == clean
    assert msgspec.json.decode(dumps({"a": [text], text: (1, None)})) == {"a": [clean], clean: [1, None]}


@pytest.mark.parametrize("raw", [b"{}", b"[1]", '"\u2028"', b'{"a":"\\ud83d\\ude00"}'])
def test_ordinary_documents(raw: bytes | str) -> None:
    """S5: bytes or text are read by the fast decoder."""
    assert loads(raw, ANYTHING) == msgspec.json.decode(raw)


def test_lone_escapes_are_read_by_the_slow_way() -> None:
    """S5: an escaped half of a pair is JSON; where the fast decoder refuses it, the standard one reads it."""
    typed = msgspec.json.Decoder(dict[str, str])

    assert loads(b'{"a":"\\ud83d"}', typed) == {"a": "\ud83d"}
    with pytest.raises(msgspec.ValidationError):
        loads(b'{"a":["\\ud83d"]}', typed)
    for wrong in (b'{"a":"\\ud83d"', b'["\\ud83d",NaN]', b'"\\ud83d"' + b"x"):
        with pytest.raises(msgspec.DecodeError):
            loads(wrong, ANYTHING)


def test_a_key_that_is_no_unicode_is_an_unknown_field() -> None:
    """S5: a lone half in a key belongs to no field, and hinders none."""

    class Typed(msgspec.Struct):
        a: int

    assert loads(b'{"\\ud83d":1,"a":2}', msgspec.json.Decoder(Typed)) == Typed(2)


@pytest.mark.parametrize(
    ("raw", "deep"),
    [
        (b"[" * 128 + b"]" * 128, False),
        (b"[" * 129 + b"]" * 129, True),
        (b'{"a":' * 129 + b"1" + b"}" * 129, True),
        (b"[" + b"[]," * 500 + b"[]]", False),
        (b'["' + b"[" * 500 + b'"]', False),
        (b'["\\"' + b"[" * 500 + b'"]', False),
        (b"[" * 200_000, True),
    ],
)
def test_nesting_is_bounded(raw: bytes, deep: bool) -> None:
    """S2: more than 128 levels is refused, however long the document; brackets inside of strings do not count."""
    if deep:
        with pytest.raises(TooDeep, match="deeper than 128 levels"):
            loads(raw, ANYTHING)
    else:
        assert loads(raw, ANYTHING) is not None


def test_a_decoders_own_recursion_is_caught() -> None:
    """S2: with a higher limit of the caller's, the decoder's own error is the refusal."""
    with pytest.raises(TooDeep, match="deeper than 1000000 levels"):
        loads(b"[" * 100_000 + b"]" * 100_000, ANYTHING, depth=1_000_000)


JSON: st.SearchStrategy[object] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(st.characters(exclude_categories=()))),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)


@given(JSON)
def test_what_goes_out_can_be_read(value: object) -> None:
    """Q8: whatever text is in it, what is written is JSON in UTF-8."""
    assert json_fault(value) is None
    dumps(value).decode()
    loads(dumps(value), ANYTHING)


@given(st.binary(max_size=40) | st.text(st.sampled_from('{}[]"\\ud83:1,'), max_size=30).map(str.encode))
def test_no_bytes_raise_anything_else(raw: bytes) -> None:
    """S2, S5: reading untrusted bytes gives a value or one of the two refusals."""
    try:
        loads(raw, ANYTHING)
    except (msgspec.DecodeError, TooDeep):
        return
