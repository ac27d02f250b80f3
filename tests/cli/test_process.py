"""The command as a process: Ctrl-C, a reader that goes away, what is not installed, what crashes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import limen
from cli._command import KEY, Done, command, environment, terminal_read
from limen.testing.server import MockProvider

NO_SIGNALS = pytest.mark.skipif(sys.platform == "win32", reason="a signal cannot be sent to one process there")


def finished(folder: Path, arguments: list[str], **variables: str) -> Done:
    """Run a command line to its end."""
    done = subprocess.run(
        arguments,
        cwd=folder,
        env=environment(folder, variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_python_m_limen(tmp_path: Path) -> None:
    """`python -m limen` and the installed command are the same."""
    script = Path(sys.executable).with_name("limen")

    for arguments in (command("--version"), [str(script), "--version"]):
        assert finished(tmp_path, arguments) == Done(0, f"limen {limen.__version__}\n", "")


@NO_SIGNALS
@pytest.mark.parametrize(("flag", "shown"), [(None, "Hello from"), ("--json", '{"type":"block-start"')])
def test_ctrl_c_keeps_what_had_arrived(provider: MockProvider, tmp_path: Path, flag: str | None, shown: str) -> None:
    """Ctrl-C aborts the call: what had arrived is on stdout, one line on stderr, exit code 130, the socket closed."""
    variables = {"DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": provider.base_url("openai-chat")}
    arguments = ["stream", "-m", "deepseek/mock-text+stall-mid-stream", *([flag] if flag else []), "hello"]
    with subprocess.Popen(
        command(*arguments),
        cwd=tmp_path,
        env=environment(tmp_path, variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        provider.request_blocking(1).stalled.wait_blocking(30)
        assert process.stdout is not None
        first = process.stdout.read(len(shown))

        process.send_signal(signal.SIGINT)

        out, err = process.communicate(timeout=30)
    assert first.decode() == shown
    assert (process.returncode, err.decode()) == (
        130,
        "limen: ABORTED: interrupted; what had arrived is above\n",
    )
    assert out.decode().endswith("\n")
    provider.requests[0].closed.wait_blocking(10)


@NO_SIGNALS
def test_ctrl_c_ends_the_mock_provider(tmp_path: Path) -> None:
    """`limen mock` says where it listens, and Ctrl-C ends it with success."""
    with subprocess.Popen(
        command("mock", "--scenario", "text"),
        cwd=tmp_path,
        env=environment(tmp_path, {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        first, hint, _ = (process.stdout.readline() for _ in range(3))
        url = first.removeprefix("listening on ").strip()
        variables = {"DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": f"{url}/v1"}
        answer = finished(tmp_path, command("stream", "-m", "deepseek/m", "hello"), **variables)

        process.send_signal(signal.SIGINT)

        err = process.communicate(timeout=30)[1]
    assert first.startswith("listening on http://127.0.0.1:")
    assert answer.out.startswith("Hello from the mock provider.\n")
    assert (process.returncode, err) == (0, "POST /v1/chat/completions · openai-chat\n")
    assert "limen stream -m openai/any-model hello" in hint


@NO_SIGNALS
@pytest.mark.parametrize(
    ("listen", "said"),
    [("refuse", "cannot connect to http://127.0.0.1:"), ("tls", "certificate"), ("plain-on-tls", "[SSL")],
)
def test_the_mock_providers_port_misbehaves(tmp_path: Path, listen: str, said: str) -> None:
    """`limen mock --listen` refuses every connection, or fails TLS in either way: a call is TRANSPORT (E6)."""
    with subprocess.Popen(
        command("mock", "--listen", listen),
        cwd=tmp_path,
        env=environment(tmp_path, {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().removeprefix("listening on ").strip()
        config = f'[routes.mock]\nadapter = "openai-chat"\nbase_url = "{url}/v1"\nretry = {{ max_retries = 0 }}\n'
        (tmp_path / "limen.toml").write_text(config, encoding="utf-8")
        answer = finished(tmp_path, command("stream", "-m", "mock/m", "hello"))

        process.send_signal(signal.SIGINT)

        err = process.communicate(timeout=30)[1]
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith("limen: TRANSPORT: ")
    assert said in answer.err
    assert (process.returncode, err) == (0, "")


def test_the_mock_provider_without_openssl(tmp_path: Path) -> None:
    """Where no certificate can be made, `limen mock --listen tls` says what is missing; exit code 2."""
    done = finished(tmp_path, command("mock", "--listen", "tls"), PATH=str(tmp_path))

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("limen: INVALID_OPTIONS: a self-signed certificate is made by the openssl command")


@NO_SIGNALS
def test_a_reader_that_goes_away(provider: MockProvider, tmp_path: Path) -> None:
    """`limen … | head` ends without a traceback when the reader has had enough."""
    variables = {"DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": provider.base_url("openai-chat")}
    with subprocess.Popen(
        command("stream", "-m", "deepseek/mock-long", "--json", "hello"),
        cwd=tmp_path,
        env=environment(tmp_path, variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()
        process.wait(30)

    assert (process.returncode, err) == (1, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_output_that_cannot_be_written(provider: MockProvider, tmp_path: Path) -> None:
    """A full disk is told in one line; without any output at all the call is made all the same."""
    variables = {"DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": provider.base_url("openai-chat")}
    arguments = command("stream", "-m", "deepseek/mock-text", "hello")

    full = finished(tmp_path, ["sh", "-c", 'exec "$@" > /dev/full', "sh", *arguments], **variables)
    deaf = finished(tmp_path, ["sh", "-c", 'exec "$@" <&-', "sh", *command("decode", "--wire", "openai-chat", "-")])
    closed = finished(tmp_path, ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *arguments], **variables)

    words = "limen: UNKNOWN: what the command says cannot be written: No space left on device\n"
    assert full == Done(1, "", words)
    assert closed == Done(0, "", "")
    assert deaf == Done(2, "", "limen: INVALID_OPTIONS: there is no stdin to read\n")


def test_without_the_extra(tmp_path: Path) -> None:
    """Without click the command says what to install; exit code 2."""
    blocked = """
import importlib.util, runpy, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "click" else find(name, *rest)
sys.argv = ["limen", "--version"]
runpy.run_module("limen", run_name="__main__")
"""
    assert finished(tmp_path, [sys.executable, "-c", blocked]) == Done(
        2, "", "limen: the command needs click: pip install 'limen[cli]'\n"
    )


def test_a_crash_of_the_command_shows_no_secret(tmp_path: Path) -> None:
    """A bug is one line with type, scrubbed words and place: no traceback, no local variables, no key (E5)."""
    crashing = f"""
import sys
import limen.config
def load(*arguments, **options):
    key = {KEY!r}
    raise ZeroDivisionError(f"cannot divide by {{key}}")
limen.config.load = load
sys.argv = ["limen", "routes"]
from limen.__main__ import main
main()
"""
    done = finished(tmp_path, [sys.executable, "-c", crashing])

    assert done.code == 1
    assert done.err.startswith("limen: UNKNOWN: ZeroDivisionError: cannot divide by [redacted] (")
    assert done.err.endswith("this is a bug: report it\n")
    assert "canary" not in done.err + done.out


def test_the_demonstration(tmp_path: Path) -> None:
    """The example behind `make demo` runs the two-turn tool round trip, and shows both turns' chunks."""
    example = Path(__file__).parents[2] / "examples" / "tool_roundtrip.py"

    done = finished(tmp_path, [sys.executable, str(example)])

    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert (lines[0], lines[-1]) == ("turn 1", "answer: The sum is 42.")
    chunks = [limen.decode_chunk(line.strip()) for line in lines if line.startswith("  ")]
    finishes = [chunk.reason.kind for chunk in chunks if isinstance(chunk, limen.Finish)]
    assert finishes == ["tool-calls", "stop"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal there")
@pytest.mark.parametrize(("variables", "dim", "plain"), [({}, "\x1b[2m", "\x1b[0m"), ({"NO_COLOR": "1"}, "", "")])
def test_reasoning_is_dimmed_in_a_terminal(
    provider: MockProvider, tmp_path: Path, variables: dict[str, str], dim: str, plain: str
) -> None:
    """A terminal shows reasoning and counts dimmed, text as it is; with NO_COLOR nothing is styled."""
    import pty

    setting = {"DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": provider.base_url("openai-chat"), "TERM": "xterm"}
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command("stream", "-m", "deepseek/mock-reasoning", "hello"),
        cwd=tmp_path,
        env=environment(tmp_path, {**setting, **variables}),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        seen = b"".join(iter(lambda: terminal_read(ours), b""))
    os.close(ours)
    assert process.returncode == 0

    text = seen.decode()
    assert f"{dim}The{plain}" in text
    assert f"{dim}input: 12 · output: 19 · reasoning: 9 · finish: stop{plain}" in text
    for style in filter(None, (dim, plain)):
        text = text.replace(style, "")
    assert text == (
        "The user wants a greeting, so I greet.\r\nHello, after some thought.\r\n"
        "input: 12 · output: 19 · reasoning: 9 · finish: stop\r\n"
    )
