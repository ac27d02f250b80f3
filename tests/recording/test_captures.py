"""Hand-made answers of each wire give the chunks that stand beside them, however they are cut (C16)."""

import os

import pytest

import limen
from recording._captures import Capture, captures, lines

CAPTURES = captures()


def named(capture: Capture) -> str:
    return f"{capture.wire}/{capture.file.name}"


@pytest.mark.parametrize("capture", CAPTURES, ids=named)
def test_a_capture_gives_its_chunks(capture: Capture) -> None:
    """Read whole, an answer gives exactly the chunks that were reviewed."""
    found = lines(capture, [capture.body])
    if os.environ.get("LIMEN_WRITE_CAPTURES"):
        capture.expected.write_text("".join(f"{line}\n" for line in found), encoding="utf-8")

    assert found == capture.expected.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("capture", CAPTURES, ids=named)
def test_a_capture_gives_its_chunks_at_every_cut(capture: Capture) -> None:
    """In two reads cut anywhere, and byte by byte, the chunks are the same."""
    body = capture.body
    whole = lines(capture, [body])

    assert lines(capture, [body[index : index + 1] for index in range(len(body))]) == whole
    for cut in range(len(body)):
        assert lines(capture, [body[:cut], body[cut:]]) == whole


def test_every_wire_has_captures() -> None:
    """A wire that limen has is shown by hand-made answers, a stream and a whole one."""
    shown = {(capture.wire, capture.file.suffix) for capture in CAPTURES}

    wholes = {wire for wire, kind in shown if kind == ".json"}
    streams = {wire for wire, kind in shown if kind != ".json"}

    assert streams == wholes == set(limen.wires())
