"""Tool-call ids: made, kept and rewritten (C9, C10)."""

from hypothesis import given
from hypothesis import strategies as st

from limen.adapters.kit import ALPHANUMERIC, CallIds, OutgoingIds, ToolIdRule


def test_native_ids_are_kept_and_repeated_ones_are_made() -> None:
    """An id is the wire's own; one that is missing or repeated is `limen_` and 16 digits, by seed and ordinal."""
    ids = CallIds(b"seed")

    assert ids.take("a", 0) == "a"
    assert ids.take("a", 1) == CallIds(b"seed").take("", 1)
    assert ids.take("", 2) == CallIds(lambda: b"seed").make(2)
    assert CallIds(b"other").make(2) != CallIds(b"seed").make(2)
    assert [len(one) for one in sorted(ids.used)] == [1, 22, 22]


@given(ids=st.lists(st.text(min_size=1, max_size=60), unique=True, max_size=40))
def test_rewritten_ids_fit_the_rule_and_never_meet(ids: list[str]) -> None:
    """The mapping is injective, stable, and every id on the wire fits the rule (C9)."""
    rule = ToolIdRule(min_length=9, max_length=9, alphabet=ALPHANUMERIC)
    first, second = OutgoingIds(rule), OutgoingIds(rule)

    mapped = [first[one] for one in ids]

    assert mapped == [first[one] for one in ids] == [second[one] for one in ids]
    assert len(set(mapped)) == len(ids)
    assert all(len(one) == 9 and set(one) <= set(ALPHANUMERIC) for one in mapped)


def test_an_id_of_an_earlier_turn_is_rewritten_where_ids_are_unique() -> None:
    """A wire that refuses a repeated id gets another one for the later turn, call and result alike."""
    ids = OutgoingIds(ToolIdRule(max_length=40, unique=True))
    ids.next_turn()
    first = (ids["call_1"], ids["call_1"])
    ids.next_turn()
    second = (ids["call_1"], ids["call_1"])

    assert first == ("call_1", "call_1")
    assert second[0] == second[1] != "call_1"


def test_an_id_may_come_again_where_they_need_not_be_unique() -> None:
    """Without that rule one id stays one id."""
    ids = OutgoingIds(ToolIdRule(max_length=40))
    first = ids["call_1"]
    ids.next_turn()

    assert (first, ids["call_1"]) == ("call_1", "call_1")
