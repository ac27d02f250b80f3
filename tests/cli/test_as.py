"""`limen stream --as`: the answer in the words of another protocol."""

import io
import json

import pytest

import limen
from cli._command import Done, Run
from limen.cli import run as run_command
from limen.contract import BlockEnd, TextBlock, ToolCallBlock
from limen.views import ENCODERS

TEXT = "Hello from the mock provider."
pytestmark = pytest.mark.usefixtures("deepseek")


def test_pi(run: Run) -> None:
    """`--as pi` is a line of Pi's JSON per event, with the route and the model as they were asked for."""
    done = run("stream", "-m", "deepseek/mock-text", "--as", "pi", "hello")
    events = [json.loads(line) for line in done.out.splitlines()]
    message = events[-1]["message"]

    assert (done.code, done.err) == (0, "")
    assert [events[0]["type"], events[-1]["type"], events[-1]["reason"]] == ["start", "done", "stop"]
    assert message["content"] == [{"type": "text", "text": TEXT}]
    assert (message["provider"], message["model"], message["timestamp"] > 0) == ("deepseek", "mock-text", True)


def test_web_chat(run: Run) -> None:
    """`--as ui` is the body that a web chat component reads: server-sent events, and the marker at the end."""
    done = run("stream", "-m", "deepseek/mock-text-and-tools", "--as", "ui", "hello")
    *events, marker, rest = done.out.split("\n\n")
    parts = [json.loads(event.removeprefix("data: ")) for event in events]

    assert (done.code, marker, rest) == (0, "data: [DONE]", "")
    assert [parts[0]["type"], parts[-1]] == ["start", {"type": "finish", "finishReason": "tool-calls"}]
    assert [part["input"] for part in parts if part["type"] == "tool-input-available"] == [{"left": 20, "right": 22}]


@pytest.mark.parametrize("wire", sorted(ENCODERS))
def test_wires(monkeypatch: pytest.MonkeyPatch, wire: str) -> None:
    """`--as` and a wire's name is a body of that wire, byte for byte, which reads back as the answer."""
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, write_through=True))
    code = run_command(["stream", "-m", "deepseek/mock-text-and-tools", "--as", wire, "hello"])
    blocks = [chunk.block for chunk in limen.iter_chunks(wire, written.getvalue()) if isinstance(chunk, BlockEnd)]

    assert code == 0
    assert [block.text for block in blocks if isinstance(block, TextBlock)] == ["Let me add that up."]
    assert [block.arguments for block in blocks if isinstance(block, ToolCallBlock)] == ['{"left":20,"right":22}']


def test_a_failure(run: Run) -> None:
    """A failure is the protocol's error on stdout, the line on stderr, and exit code 1 as always."""
    done = run("stream", "-m", "deepseek/mock-text+cut", "--as", "pi", "hello")
    last = json.loads(done.out.splitlines()[-1])

    assert (done.code, last["type"], last["reason"]) == (1, "error", "error")
    assert last["error"]["errorMessage"].startswith("STREAM_CLOSED: ")
    assert done.err.startswith("limen: STREAM_CLOSED: ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--as", "telegraph"], "--as takes pi, ui, "),
        (["--as", "pi", "--json"], "--json and --as each say how the answer is written; give one of them"),
        (["--as", "pi", "--tools", "os:getcwd"], "--as shows one answer as events; a conversation with --tools has"),
    ],
)
def test_wrong_usage(run: Run, arguments: list[str], words: str) -> None:
    """An unknown protocol, or two ways to write the answer, is wrong usage: exit code 2, and nothing on stdout."""
    done = run("stream", "-m", "deepseek/mock-text", *arguments, "hello")

    assert done == Done(2, "", done.err)
    assert done.err.startswith(f"limen: INVALID_OPTIONS: {words}")


def test_the_help_names_it(run: Run) -> None:
    """`limen stream --help` lists `--as` beside the other options."""
    assert "--as" in run("stream", "--help").out
