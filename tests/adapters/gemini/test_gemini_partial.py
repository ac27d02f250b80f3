"""Arguments that Vertex streams by JSON path become the JSON text of one object (`partialArgs`)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.gemini._generate_wire import call, chunk, read, read_all_ways, stopped
from limen.contract import codes


def piece(path: str, **fields: object) -> dict[str, object]:
    return {"jsonPath": path, **fields}


def arguments(*pieces: dict[str, object]) -> str:
    """The arguments of a call that came in these pieces, a chunk each."""
    body = chunk(call("f", willContinue=True))
    body += b"".join(chunk(call(partialArgs=[one], willContinue=True)) for one in pieces)
    (made,) = read(body + chunk(call()) + stopped()).response.tool_calls
    return made.arguments


def test_pieces_become_one_document() -> None:
    """Objects, arrays, text in pieces and every kind of value, in the order in which they came."""
    found = arguments(
        piece("$.a.b", stringValue="Bos", willContinue=True),
        piece("$.a.b", stringValue='t"on\n', willContinue=True),
        piece("$.a.b", stringValue=""),
        piece("$.a.c", numberValue=1.5),
        piece("$.list[0].x", boolValue=False),
        piece("$.list[0].y", nullValue="NULL_VALUE"),
        piece("$.list[1]", stringValue="last"),
        piece("$['odd key']", boolValue=True),
        piece('$["it\\"s"]', numberValue=2),
    )

    assert found == (
        '{"a":{"b":"Bost\\"on\\n","c":1.5},"list":[{"x":false,"y":null},"last"],"odd key":true,"it\\"s":2}'
    )


def test_text_that_is_left_open_is_closed() -> None:
    """Text ends where another path begins, where a piece without a value says so, and where the call ends."""
    assert arguments(piece("$.a", stringValue="x", willContinue=True), piece("$.b", numberValue=1)) == '{"a":"x","b":1}'
    assert arguments(piece("$.a", stringValue="x", willContinue=True), piece("$.a"), piece("$.b", boolValue=True)) == (
        '{"a":"x","b":true}'
    )
    assert arguments(piece("$.a", stringValue="x", willContinue=True)) == '{"a":"x"}'


def test_a_call_ends_in_every_way_that_was_seen() -> None:
    """By an empty call, a piece that does not go on, another call, or the finish; keep-alives add nothing."""
    first = call("f", willContinue=True)
    alive = call(willContinue=True)
    last = call(partialArgs=[piece("$.a", numberValue=1)])
    bodies = {
        "empty call": chunk(first, alive) + chunk(last) + chunk(call()) + stopped(),
        "no more": chunk(first) + chunk(last) + stopped(),
        "at once": chunk(call("f", partialArgs=[piece("$.a", numberValue=1)])) + stopped(),
        "finish": chunk(first, call(partialArgs=[piece("$.a", numberValue=1)], willContinue=True)) + stopped(),
    }
    for way, body in bodies.items():
        found = read_all_ways(body).response
        assert [(one.name, one.arguments) for one in found.tool_calls] == [("f", '{"a":1}')], way
    two = chunk(first, call(partialArgs=[piece("$.a", stringValue="x", willContinue=True)], willContinue=True))
    found = read(two + chunk(call("g", {"b": 2})) + stopped()).response
    assert [(one.name, one.arguments) for one in found.tool_calls] == [("f", '{"a":"x"}'), ("g", '{"b":2}')]
    assert [one.arguments for one in read(chunk(call("f")) + stopped()).response.tool_calls] == ["{}"]


@pytest.mark.parametrize(
    "pieces",
    [
        [piece("$.a", numberValue=1), piece("$.a", numberValue=2)],
        [piece("$.a", numberValue=1), piece("$.a.b", numberValue=2)],
        [piece("$.a.b", numberValue=1), piece("$.a", numberValue=2)],
        [piece("$.a[1]", numberValue=1)],
        [piece("$.a[0]", numberValue=1), piece("$.a.b", numberValue=1)],
        [piece("$.a")],
        [piece("a", numberValue=1)],
        [piece("$", numberValue=1)],
        [piece("$[0]", numberValue=1)],
        [piece("$.a..b", numberValue=1)],
        [piece("", numberValue=1)],
        [{"numberValue": 1}],
        [piece("$" + ".a" * 200, numberValue=1)],
    ],
)
def test_pieces_out_of_order_are_malformed(pieces: list[dict[str, object]]) -> None:
    """What is no document in order, a path twice, an item left out or no path, is refused."""
    body = chunk(call("f", willContinue=True)) + chunk(call(partialArgs=pieces, willContinue=True)) + stopped()

    assert read(body).code == codes.MALFORMED_RESPONSE


def test_pieces_without_a_call_are_malformed() -> None:
    """Pieces before any call's name belong to none."""
    assert read(chunk(call(partialArgs=[piece("$.a", numberValue=1)])) + stopped()).code == codes.MALFORMED_RESPONSE


NAMES = st.text("abcXYZ_ -", min_size=1, max_size=5)
LEAVES = st.one_of(st.integers(-9, 9), st.booleans(), st.none(), st.text(max_size=6))
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(NAMES, inner, min_size=1, max_size=3),
    max_leaves=8,
)


def leaves(value: object, path: str = "$") -> list[dict[str, object]]:
    """The pieces in which a document may come."""
    if isinstance(value, dict):
        return [one for name, inner in value.items() for one in leaves(inner, f"{path}['{name}']")]
    if isinstance(value, list):
        return [one for index, inner in enumerate(value) for one in leaves(inner, f"{path}[{index}]")]
    if isinstance(value, str):
        half = len(value) // 2
        return [
            piece(path, stringValue=value[:half], willContinue=True),
            piece(path, stringValue=value[half:]),
        ]
    if value is None:
        return [piece(path, nullValue="NULL_VALUE")]
    return [piece(path, **{"boolValue" if isinstance(value, bool) else "numberValue": value})]


@given(st.dictionaries(NAMES, TREES, min_size=1, max_size=3))
def test_any_document_comes_back(document: dict[str, object]) -> None:
    """Every object whose leaves come in order is read back equal, and in its order."""
    assert json.dumps(json.loads(arguments(*leaves(document)))) == json.dumps(document)
