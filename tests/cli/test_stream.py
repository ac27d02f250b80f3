"""`limen stream`: the answer on stdout, one line on stderr when it fails, exit codes."""

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

import limen
from cli._command import KEY, Done, Run
from limen.testing.server import MockProvider, Script, Text, Turn

USAGE = "input: 12 · output: 7 · finish: stop\n"


@pytest.mark.usefixtures("deepseek")
@pytest.mark.parametrize(
    ("model", "out", "notes"),
    [
        ("mock-text", "Hello from the mock provider.\n", USAGE),
        (
            "mock-reasoning",
            "Hello, after some thought.\n",
            "The user wants a greeting, so I greet.\ninput: 12 · output: 19 · reasoning: 9 · finish: stop\n",
        ),
        (
            "mock-text-and-tools",
            "Let me add that up.\n",
            '→ add({"left":20,"right":22})  [call_add_1]\ninput: 44 · output: 22 · finish: tool-calls\n',
        ),
        (
            "mock-parallel-tools",
            "",
            '→ add({"left":20,"right":22})  [call_add_1]\n→ add({"left":1,"right":2})  [call_add_2]\n'
            "input: 44 · output: 34 · finish: tool-calls\n",
        ),
        (
            "mock-max-tokens",
            "This answer is cut\n",
            "input: 12 · output: 7 · finish: max-tokens\n"
            "limen: the answer was cut at its limit of tokens; --max-tokens sets it\n",
        ),
        ("mock-no-usage", "Nobody counted.\n", "finish: stop\n"),
        (
            "mock-usage-cached",
            "Mostly from the cache.\n",
            "input: 20 · cache read: 256 · cache write: 32 · output: 5 · reasoning: 0 · finish: stop\n",
        ),
    ],
)
def test_an_answer_is_shown_as_it_comes(run: Run, model: str, out: str, notes: str) -> None:
    """The text is all of stdout; reasoning, complete calls, counts and the finish are on stderr; exit code 0 (J1)."""
    assert run("stream", "-m", f"deepseek/{model}", "hello") == Done(0, out, notes)
    assert run("stream", "-q", "-m", f"deepseek/{model}", "hello").out == out


def test_the_price_is_told_where_it_is_known(run: Run, provider: MockProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the table of prices installed, an answer of a model that it knows is followed by its cost on stderr."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url("openai-chat"))
    provider.use("text")

    known = run("stream", "-m", "openai/gpt-4o", "hi")
    quiet = run("stream", "-q", "-m", "openai/gpt-4o", "hi")
    monkeypatch.setattr("limen.cli._stream.find_spec", lambda _name: None)
    missing = run("stream", "-m", "openai/gpt-4o", "hi")

    assert known.err.startswith(f"{USAGE}cost: 0.0001 USD (genai-prices ")
    assert (quiet.err, missing.err) == ("", USAGE)


def test_the_request_says_what_was_asked(run: Run, deepseek: MockProvider) -> None:
    """Prompt, system text, limit and effort reach the provider; the command names itself (Q7)."""
    run("stream", "-m", "deepseek/mock-text", "--system", "be brief", "--max-tokens", "9", "--effort", "high", "hi")

    request = deepseek.requests[0]
    assert request.at("messages", 0, "content") == "be brief"
    assert request.at("messages", 1, "content") == "hi"
    assert request.at("max_tokens") == 9
    assert request.at("reasoning_effort") == "high"
    assert request.header("user-agent") == f"limen-cli/{limen.__version__} limen/{limen.__version__}"


def test_a_model_with_slashes(run: Run, deepseek: MockProvider) -> None:
    """All after the first slash is the model's id, byte for byte; with --route all of it is (Q2)."""
    run("stream", "-m", "deepseek/some/model", "hi")
    run("stream", "--route", "deepseek", "-m", "some/model", "hi")

    assert [request.at("model") for request in deepseek.requests] == ["some/model", "some/model"]


def test_the_prompt_from_stdin(run: Run, deepseek: MockProvider) -> None:
    """`-` reads the prompt from stdin, whole."""
    done = run("stream", "-m", "deepseek/mock-text", "-", stdin="zwei\nZeilen äöü\n".encode())

    assert done.code == 0
    assert deepseek.requests[0].at("messages", 0, "content") == "zwei\nZeilen äöü\n"


@pytest.mark.usefixtures("deepseek")
def test_chunks_as_json_lines(run: Run) -> None:
    """`--json` prints each chunk as one line that reads back equal; a failure is the last of them."""
    text = run("stream", "-m", "deepseek/mock-text", "--json", "hello")
    cut = run("stream", "-m", "deepseek/mock-text+cut", "--json", "hello")

    chunks = [limen.decode_chunk(line) for line in text.out.splitlines()]
    assert chunks[0] == limen.BlockStart(0, "text")
    assert chunks[-1] == limen.Finish(limen.FinishReason("stop"))
    last = limen.decode_chunk(cut.out.splitlines()[-1])
    assert isinstance(last, limen.Finish)
    assert last.reason.failure is not None
    assert (text.code, text.err, cut.code, last.reason.failure.code) == (0, "", 1, "STREAM_CLOSED")
    assert cut.err.startswith("limen: STREAM_CLOSED: ")


@pytest.mark.usefixtures("deepseek")
@pytest.mark.parametrize(
    ("fault", "code", "out", "words"),
    [
        ("cut", "STREAM_CLOSED", "Hello from\n", "the answer was cut off; try again"),
        ("reset-mid-stream", "TRANSPORT", "Hello from\n", "`limen doctor --online` tries each route"),
        ("html", "MALFORMED_RESPONSE", "", "content type: text/html"),
        ("401", "AUTH", "", "(HTTP 401, invalid_api_key, request req-mock-1); check the key"),
        ("404", "HTTP_404", "", "(HTTP 404"),
        ("402", "QUOTA", "", "add credit or raise its limit"),
        ("429", "RATE_LIMIT", "", "retry after 2 s"),
        ("500", "SERVER", "", "(HTTP 500"),
        ("error-event", "SERVER", "Hello from\n", "request req-mock-1"),
        ("nothing", "STREAM_CLOSED", "", "before its first event"),
    ],
)
def test_a_failure_is_one_line_with_what_to_do(run: Run, fault: str, code: str, out: str, words: str) -> None:
    """What had arrived stays on stdout; stderr has one line with code and remedy; exit code 1, and one request."""
    done = run("stream", "-m", f"deepseek/mock-text+{fault}", "hello")

    assert (done.code, done.out) == (1, out)
    assert done.err.startswith(f"limen: {code}: ")
    assert words in done.err
    assert done.err.count("\n") == 1
    assert "canary" not in done.err


def test_nobody_listens(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address where nobody listens is `TRANSPORT` at once: the command tries once (R9)."""
    with MockProvider(listen="refuse") as silent:
        monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
        monkeypatch.setenv("DEEPSEEK_BASE_URL", silent.base_url("openai-chat"))
        done = run("stream", "-m", "deepseek/m", "hello")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("limen: TRANSPORT: ")


def test_a_route_that_is_configured_to_be_retried(run: Run, deepseek: MockProvider, tmp_path: Path) -> None:
    """A route with `retry` in its configuration is tried again, and each wait is told on stderr (R9)."""
    (tmp_path / "limen.toml").write_text(
        f"""
[routes.r]
adapter = "deepseek"
base_url = "{deepseek.base_url("openai-chat")}"
api_key_env = "DEEPSEEK_API_KEY"
retry = {{ initial_delay_ms = 1, max_delay_ms = 1, jitter = 0 }}
""",
        encoding="utf-8",
    )
    deepseek.use(["text+500", "text"])

    done = run("stream", "-m", "r/m", "hello")

    assert (done.code, done.out) == (0, "Hello from the mock provider.\n")
    assert done.err.startswith("limen: SERVER: ")
    assert done.err.endswith(f"; trying again in 0.0 s (try 2)\n{USAGE}")


@pytest.mark.skipif(sys.platform == "win32", reason="a signal cannot be sent to one process there")
def test_ctrl_c(run: Run, deepseek: MockProvider) -> None:
    """Ctrl-C aborts the call: one line on stderr, exit code 130, the connection closed (Q6)."""

    def interrupt() -> None:
        deepseek.request_blocking(1).stalled.wait_blocking(30)
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    done = run("stream", "-m", "deepseek/mock-text+stall-mid-stream", "hello")
    other.join(10)

    assert (done.code, done.err) == (130, "limen: ABORTED: interrupted; what had arrived is above\n")
    deepseek.requests[0].closed.wait_blocking(10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("stream", "-m", "m", "hi"),
            "INVALID_OPTIONS: a model is written ROUTE/MODEL, such as deepseek/deepseek-v4-fl",
        ),
        (("stream", "-m", "/m", "hi"), "INVALID_OPTIONS: a model is written ROUTE/MODEL"),
        (("stream", "-m", "r/", "hi"), "INVALID_OPTIONS: a model is written ROUTE/MODEL"),
        (("stream", "-m", "deepseek/m", " "), "INVALID_OPTIONS: the prompt is empty"),
        (
            ("stream", "-m", "deepseek/m", "--max-tokens", "0", "hi"),
            "INVALID_OPTIONS: Invalid value for '--max-tokens'",
        ),
        (("stream", "-m", "deepseek/m"), "INVALID_OPTIONS: the prompt is empty: give one, or pipe one in"),
        (("stream", "hi"), "INVALID_OPTIONS: there is no model: give -m ROUTE/MODEL, set LIMEN_MODEL, or write model"),
        (("stream", "-m", "deepseek/m", "--tempo", "3", "hi"), "INVALID_OPTIONS: No such option"),
        (("stream", "-m", "nowhere/m", "hi"), "NO_ADAPTER: there is no route 'nowhere'; there are deepseek"),
        (("stream", "-m", "deepseek/m", "--effort", "huge", "hi"), "UNSUPPORTED_REASONING_EFFORT: "),
        (("strem",), "INVALID_OPTIONS: No such command 'strem'"),
    ],
)
@pytest.mark.usefixtures("deepseek")
def test_wrong_usage(run: Run, arguments: tuple[str, ...], message: str) -> None:
    """Wrong usage or configuration is one line with code and remedy, exit code 2, and no request."""
    done = run(*arguments)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"limen: {message}")
    assert done.err.count("\n") == 1


def test_a_configuration_that_is_not_there(run: Run) -> None:
    """`--config` names the file; one that is not there is refused by its path."""
    done = run("-c", "none.toml", "stream", "-m", "deepseek/m", "hi")

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("limen: INVALID_CONFIG: none.toml: there is no such file; name another one")


def test_stdin_that_is_no_text(run: Run) -> None:
    """Bytes that are not UTF-8 are refused, naming the first of them."""
    done = run("stream", "-m", "deepseek/m", "-", stdin=b"ab\xff")

    assert done == Done(
        2, "", "limen: INVALID_OPTIONS: stdin is not UTF-8 text (byte 2); -a - attaches an image or a document\n"
    )


def test_without_any_route(run: Run) -> None:
    """Without file and keys the message says how to get a route."""
    done = run("stream", "-m", "deepseek/m", "hi")

    assert done.code == 2
    assert done.err.startswith("limen: NO_ADAPTER: there is no route: set a provider's key, such as DEEPSEEK_API_KEY")


@pytest.mark.parametrize(
    ("key", "code", "words"),
    [
        (None, "MISSING_CREDENTIAL", "LIMEN_TEST_KEY"),
        ("can ary", "INVALID_CREDENTIAL", "LIMEN_TEST_KEY"),
        ("cänary", "INVALID_CREDENTIAL", "LIMEN_TEST_KEY"),
    ],
)
def test_keys_that_cannot_be_sent(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key: str | None, code: str, words: str
) -> None:
    """A missing or malformed key names its place and no part of the key; exit code 2 (K3, K4)."""
    config = '[routes.r]\nadapter = "deepseek"\napi_key_env = "LIMEN_TEST_KEY"\n'
    (tmp_path / "limen.toml").write_text(config, encoding="utf-8")
    if key is not None:
        monkeypatch.setenv("LIMEN_TEST_KEY", key)

    done = run("stream", "-m", "r/m", "hi")

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"limen: {code}: ")
    assert words in done.err
    assert "ary" not in done.err


def test_a_pipe_gets_the_answer_byte_for_byte(run: Run, deepseek: MockProvider) -> None:
    """A pipe gets the answer as the model said it, controls and CR LF included (J8)."""
    deepseek.use(Script([Turn([Text("a\x1b]0;b\x07c\r\nd\u202e")])]))

    assert run("stream", "-m", "deepseek/m", "hi").out == "a\x1b]0;b\x07c\r\nd\u202e\n"
