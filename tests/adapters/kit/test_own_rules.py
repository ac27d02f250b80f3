"""A route's own sentences, which are judged before every row (E3)."""

import json

import pytest

from limen.adapters.kit.errors import ErrorRow, ErrorRules, classify_answer, classify_event, own_rules
from limen.adapters.kit.errors._judge import OWN_CODES
from limen.contract import codes

ROW = ErrorRow(codes.OVERLOADED, status=frozenset({400}))


def _body(message: str) -> bytes:
    return json.dumps({"error": {"message": message}}).encode()


def test_own_sentences_come_first_in_their_order() -> None:
    """The first own sentence that is found decides, before the dialect's rows; the dialect's delays stay."""
    below = ErrorRules(rows=(ROW,), delays=())
    rules = own_rules([("cost centre .* is closed", "QUOTA"), ("cost centre", "AUTH")], below)
    found = [
        classify_answer(400, {}, _body(message), rules=rules).code
        for message in ("The COST CENTRE 7 is closed", "No cost centre", "something else")
    ]
    assert found == [codes.QUOTA, codes.AUTH, codes.OVERLOADED]
    assert (rules.rows[2:], rules.delays, own_rules([], below)) == ((ROW,), below.delays, below)


def test_own_sentences_are_found_in_a_stream_and_in_plain_text() -> None:
    """An own sentence decides wherever a message is: in a stream, and in a body that is no JSON."""
    rules = own_rules([("guard said no", "CONTENT_FILTER")])
    found = [
        classify_event(_body("Guard said no"), rules=rules),
        classify_answer(403, {}, b"guard said no", rules=rules),
    ]
    assert [failure.code for failure in found] == [codes.CONTENT_FILTER] * 2


@pytest.mark.parametrize("code", OWN_CODES)
def test_every_code_of_an_answer_may_be_named(code: str) -> None:
    """Each code that a provider's answer can have may be an own sentence's."""
    assert classify_answer(418, {}, _body("teapot"), rules=own_rules([("teapot", code)])).code == code


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ([("a", "QUOTA"), ("b", "QUOTE")], "errors[1].code is 'QUOTE'; it is one of AUTH, QUOTA, RATE_LIMIT, "),
        ([("a", "quota")], "errors[0].code is 'quota'; it is one of "),
        ([("a", "ABORTED")], "errors[0].code is 'ABORTED'; it is one of "),
        ([("a(", "QUOTA")], "errors[0].match is no regular expression: "),
        ([("", "QUOTA")], "errors[0].match is '', which every text has"),
        ([("x*", "QUOTA")], "errors[0].match is 'x*', which every text has"),
    ],
)
def test_a_wrong_entry_is_named(own: list[tuple[str, str]], message: str) -> None:
    """A pattern that does not compile or that every text has, and an unknown code, are `ValueError` with the place."""
    with pytest.raises(ValueError) as fault:  # noqa: PT011 - the message is asserted below
        own_rules(own)
    assert str(fault.value).startswith(message)
