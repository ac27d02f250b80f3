"""`limen chat`: turns, Ctrl-C, Ctrl-D, and the file that keeps the conversation."""

import io
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import limen
from cli._command import KEY, Run, command, environment, terminal_read
from limen.cli import run as run_command
from limen.testing.server import MockProvider

MODEL = ("-m", "deepseek/mock-text")


def said(message: limen.Message) -> str:
    return "".join(block.text for block in message.content if isinstance(block, limen.TextBlock))


def kept(file: Path) -> list[limen.Message]:
    return [limen.decode_message(line) for line in file.read_bytes().splitlines()]


def test_turns_over_a_pipe(run: Run, deepseek: MockProvider) -> None:
    """Each line is a turn, sent with the whole conversation so far; the answers are all of stdout."""
    done = run("chat", *MODEL, "-s", "be brief", stdin=b"one\n\ntwo\n")

    assert (done.code, done.out) == (0, "Hello from the mock provider.\n" * 2)
    contents = [[turn["content"] for turn in request.json["messages"]] for request in deepseek.requests]  # type: ignore[attr-defined] # unknown JSON
    assert contents == [
        ["be brief", "one"],
        ["be brief", "one", "Hello from the mock provider.", "two"],
    ]


def test_a_conversation_is_kept_and_gone_on_with(run: Run, deepseek: MockProvider, tmp_path: Path) -> None:
    """`--save` keeps each turn as a line of JSON, and the next conversation begins with them."""
    first = run("chat", *MODEL, "--save", "talk.jsonl", stdin=b"one\n")
    again = run("chat", *MODEL, "--save", "talk.jsonl", stdin=b"two\n")

    assert (first.code, again.code) == (0, 0)
    assert again.err.startswith("going on from talk.jsonl: 2 messages\n")
    assert [(message.role, said(message)) for message in kept(tmp_path / "talk.jsonl")] == [
        ("user", "one"),
        ("assistant", "Hello from the mock provider."),
        ("user", "two"),
        ("assistant", "Hello from the mock provider."),
    ]
    assert len(deepseek.requests[1].json["messages"]) == 3  # type: ignore[arg-type] # unknown JSON
    assert [file.name for file in tmp_path.iterdir()] == ["talk.jsonl"]


def test_a_turn_that_fails_leaves_the_conversation(run: Run, deepseek: MockProvider, tmp_path: Path) -> None:
    """A failed turn is one line on stderr, and the next turn goes on from before it; a cut answer is kept (N3)."""
    deepseek.use(["text+500", "text+cut", "text"])

    done = run("chat", "-m", "deepseek/m", "--save", "talk.jsonl", "-q", stdin=b"one\ntwo\nthree\n")

    assert (done.code, done.out) == (0, "Hello from\nHello from the mock provider.\n")
    assert [line.split(": ")[1] for line in done.err.splitlines()] == ["SERVER", "STREAM_CLOSED"]
    assert [said(message) for message in kept(tmp_path / "talk.jsonl")] == [
        "two",
        "Hello from",
        "three",
        "Hello from the mock provider.",
    ]


def test_tools_in_a_conversation(run: Run, deepseek: MockProvider, tmp_path: Path) -> None:
    """With `--tools` a turn goes on until the model answers; calls and results are kept with it."""
    (tmp_path / "sums.py").write_text(
        'def add(left: int, right: int) -> int:\n    """Add two numbers."""\n    return left + right\n',
        encoding="utf-8",
    )
    deepseek.use("tools")
    done = run("chat", "-m", "deepseek/m", "--tools", "sums:add", "--save", "talk.jsonl", stdin=b"What is 20 + 22?\n")

    assert done.code == 0
    assert [message.role for message in kept(tmp_path / "talk.jsonl")] == ["user", "assistant", "tool", "assistant"]


@pytest.mark.usefixtures("deepseek")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "talk.jsonl, line 1: this is not the JSON of a message"),
        (None, "talk.jsonl cannot be read: Is a directory"),
    ],
)
def test_a_file_that_is_no_conversation(run: Run, tmp_path: Path, content: bytes | None, words: str) -> None:
    """A file that cannot be read is named with its line before anything is said."""
    if content is None:
        (tmp_path / "talk.jsonl").mkdir()
    else:
        (tmp_path / "talk.jsonl").write_bytes(content)

    done = run("chat", *MODEL, "--save", "talk.jsonl", stdin=b"one\n")

    assert (done.code, done.out) == (2, "")
    assert words in done.err


@pytest.mark.usefixtures("deepseek")
def test_a_file_that_cannot_be_written(run: Run) -> None:
    """A place that is not there is named when the turn is over."""
    done = run("chat", *MODEL, "--save", "no/such/talk.jsonl", stdin=b"one\n")

    assert (done.code, done.out) == (2, "Hello from the mock provider.\n")
    assert "no/such/talk.jsonl cannot be written: No such file or directory" in done.err


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal there")
def test_a_terminal(provider: MockProvider, tmp_path: Path) -> None:
    """Ctrl-C ends an answer that comes, or begins a new line; the conversation goes on until Ctrl-D."""
    import pty

    setting = {"DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": provider.base_url("openai-chat"), "TERM": "dumb"}
    provider.use(["text+stall-mid-stream", "text"])
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command("chat", "-m", "deepseek/m", "--save", "talk.jsonl"),
        cwd=tmp_path,
        env=environment(tmp_path, setting),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        until = reader(ours)
        until(b"> ")
        os.write(ours, b"one\n")
        provider.request_blocking(1).stalled.wait_blocking(30)
        until(b"Hello from")
        process.send_signal(signal.SIGINT)
        until(b"ABORTED")
        until(b"> ")
        # CPython loses a signal that comes between the prompt and its wait for a key, until the next one.
        while not select.select([ours], [], [], 0.5)[0]:
            process.send_signal(signal.SIGINT)
        until(b"> ")
        os.write(ours, b"two\n")
        until(b"Hello from the mock provider.")
        until(b"> ")
        os.write(ours, b"\x04")
        until(None)
    os.close(ours)

    assert process.returncode == 0
    assert [said(message) for message in kept(tmp_path / "talk.jsonl")] == [
        "one",
        "Hello from",
        "two",
        "Hello from the mock provider.",
    ]


def reader(descriptor: int) -> Callable[[bytes | None], None]:
    """A function that reads from a terminal until it has seen some words, or to the end."""
    seen = bytearray()

    def until(words: bytes | None) -> None:
        while words is None or words not in seen:
            read = terminal_read(descriptor)
            if not read:
                assert words is None, f"the terminal ended before {words!r}: {bytes(seen)!r}"
                return
            seen.extend(read)
        del seen[: seen.index(words) + len(words)]

    return until


class Keyboard(io.StringIO):
    """A terminal's end at which somebody types lines, or Ctrl-C for `None`."""

    def __init__(self, *lines: str | None) -> None:
        super().__init__()
        self._lines = list(lines)

    def isatty(self) -> bool:
        return True

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override] # as the standard library has it
        line = self._lines.pop(0) if self._lines else ""
        if line is None:
            raise KeyboardInterrupt
        return line


@pytest.mark.usefixtures("deepseek")
@pytest.mark.parametrize("shown", [True, False], ids=["stdout is a terminal", "stdout is a file"])
def test_a_prompt_is_on_the_terminal_alone(
    run: Run, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], shown: bool
) -> None:
    """The prompt goes where the user sees it, and never into a file with the answers."""
    monkeypatch.setattr("sys.stdin", Keyboard(None, "one\n"))
    monkeypatch.setattr("sys.stdout.isatty", lambda: shown)

    code = run_command(["chat", *MODEL, "-q"])

    out, err = capfd.readouterr()
    prompts = "> > > "
    if shown:
        assert (code, out) == (0, "> > Hello from the mock provider.\n> ")
    else:
        assert (code, out, err.replace("\n", "")) == (0, "Hello from the mock provider.\n", prompts)


@pytest.mark.usefixtures("deepseek")
def test_a_turn_that_cannot_be_sent(run: Run) -> None:
    """A request that is refused before it is sent is one line, and the conversation goes on."""
    done = run("chat", *MODEL, "--effort", "huge", stdin=b"one\ntwo\n")

    assert (done.code, done.out) == (0, "")
    assert [line.split(": ")[1] for line in done.err.splitlines()] == ["UNSUPPORTED_REASONING_EFFORT"] * 2
