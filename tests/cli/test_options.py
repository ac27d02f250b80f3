"""Options of a call on the command line, the prompt, attachments, and where model and configuration come from."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import limen
from cli._command import KEY, Done, Run, command, environment, terminal_read
from limen.cli import _mock, _prompt
from limen.cli._report import UsageProblem
from limen.config import user_file
from limen.testing.server import MockProvider, Script, Text, Turn

PNG = b"\x89PNG\r\n\x1a\n----"
MODEL = ("-m", "deepseek/mock-text")
OPENAI = ("-m", "openai/mock-text")


@pytest.fixture
def openai(run: Run, provider: MockProvider, monkeypatch: pytest.MonkeyPatch) -> MockProvider:
    """The provider as the route `openai`, whose wire takes images and schemas."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url("openai-chat"))
    return provider


def told(done: Done) -> str:
    """The one line of a command that was called wrongly."""
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    return done.err


def test_stdin_and_prompt_together(run: Run, deepseek: MockProvider) -> None:
    """Stdin, a blank line and the prompt are one message; without a prompt stdin alone is (J2)."""
    run("stream", *MODEL, "What is that?", stdin=b"a diff\n")
    run("stream", *MODEL, stdin=b"only\nthis\n")
    run("stream", *MODEL, "alone", stdin=b"")

    assert [request.at("messages", 0, "content") for request in deepseek.requests] == [
        "a diff\n\nWhat is that?",
        "only\nthis\n",
        "alone",
    ]


def test_a_stdin_that_does_not_end(deepseek: MockProvider, tmp_path: Path) -> None:
    """A command that waits for its stdin says so, and goes on when it ends."""
    variables = {"DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": deepseek.base_url("openai-chat")}
    with subprocess.Popen(
        command("stream", *MODEL, "hi"),
        cwd=tmp_path,
        env=environment(tmp_path, variables),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        out, _ = process.communicate("", timeout=30)

    assert first == "limen: reading stdin to its end, which goes before the prompt; < /dev/null gives none\n"
    assert (process.returncode, out) == (0, "Hello from the mock provider.\n")


def test_a_program_without_stdin(run: Run, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Without any stdin a prompt is enough, and `-` has nothing to read."""
    _prompt._say_what_is_awaited()
    assert "reading stdin to its end" in capfd.readouterr().err
    monkeypatch.setattr("sys.stdin", None)

    assert _prompt.prompt_message("hi", ()) == limen.user("hi")
    with pytest.raises(UsageProblem, match="there is no stdin to read"):
        _prompt.prompt_message("-", ())


def test_every_field_of_the_request_can_be_given(run: Run, openai: MockProvider) -> None:
    """`-o name=value` sets any field, by its name with _ or -, the value being JSON or text (J10)."""
    given = ("temperature=0", "top-p=0.5", "stop=END", "seed=7", "tool_choice=auto", "reasoning_effort=low")
    tools = 'tools=[{"name":"f","description":"d","parameters":{"type":"object"}}]'
    extra = 'extra={"openai-chat":{"logprobs":true}}'

    options = [word for one in (*given, tools, extra) for word in ("-o", one)]
    done = run("stream", "-m", "openai/gpt-4o-mini", "-s", "be brief", "--max-tokens", "9", *options, "hi")

    request = openai.requests[0]
    assert done.code == 2 or request.at("temperature") == 0
    assert [request.at(name) for name in ("temperature", "top_p", "stop", "seed", "tool_choice", "logprobs")] == [
        0,
        0.5,
        ["END"],
        7,
        "auto",
        True,
    ]
    assert request.at("messages", 0, "content") == "be brief"


@pytest.mark.usefixtures("deepseek")
@pytest.mark.parametrize(
    ("field", "words"),
    [
        (
            "temprature=1",
            "-o takes name=value with a field of the request; got 'temprature=1'; did you mean temperature?",
        ),
        ("temperature", "-o takes name=value"),
        ("signal=1", "there are system, tools, tool_choice"),
        (
            "temperature=warm",
            "this is not the JSON of a request: Expected `float | null`, got `str` - at `$.temperature`",
        ),
        ("max_tokens=5", "max_tokens is given twice, by -o and by an option of its own"),
    ],
)
def test_a_field_that_cannot_be_given(run: Run, field: str, words: str) -> None:
    """An unknown name, a value of another type and a field given twice are wrong usage, named."""
    assert words in told(run("stream", *MODEL, "--max-tokens", "5", "-o", field, "hi"))


def test_a_schema(run: Run, openai: MockProvider, tmp_path: Path) -> None:
    """`--schema` takes a JSON schema, or a file with one, as the answer's format."""
    (tmp_path / "schema.json").write_text('{"type":"object","properties":{}}', encoding="utf-8")

    run("stream", *OPENAI, "--schema", "schema.json", "hi")
    run("stream", *OPENAI, "--schema", '{"type":"object"}', "hi")

    formats = [request.at("response_format", "json_schema") for request in openai.requests]
    assert formats == [
        {"name": "answer", "schema": {"type": "object", "properties": {}}},
        {"name": "answer", "schema": {"type": "object"}},
    ]
    assert "--schema is a JSON schema, or a file with one: " in told(run("stream", *OPENAI, "--schema", "{", "hi"))


def test_attachments(run: Run, openai: MockProvider, tmp_path: Path) -> None:
    """`-a` takes files, addresses and stdin; the first bytes tell images and documents, and the rest is text."""
    (tmp_path / "a.bin").write_bytes(PNG)
    (tmp_path / "b.bin").write_bytes(b"%PDF-1.7")
    (tmp_path / "c.bin").write_text("notes", encoding="utf-8")
    several = ("-a", "a.bin", "-a", "b.bin", "-a", "c.bin", "-a", "https://x.example/y.png?z=1")

    run("stream", *OPENAI, *several, "What is in these?")
    run("stream", *OPENAI, "-a", "-", stdin=PNG)
    run("stream", *OPENAI, "-a", "-", "-", stdin=PNG)

    parts = openai.requests[0].at("messages", 0, "content")
    assert isinstance(parts, list)
    assert [part["type"] for part in parts] == ["image_url", "file", "text", "image_url", "text"]
    assert parts[1]["file"]["filename"] == "b.bin"
    assert [part["text"] for part in parts if part["type"] == "text"] == ["notes", "What is in these?"]
    assert parts[3]["image_url"]["url"] == "https://x.example/y.png?z=1"
    for request in openai.requests[1:]:
        only = request.at("messages", 0, "content")
        assert isinstance(only, list)
        assert [part["type"] for part in only] == ["image_url"]


@pytest.mark.usefixtures("deepseek")
def test_attachments_that_cannot_be_sent(run: Run, tmp_path: Path) -> None:
    """A file that is not there, bytes that nobody knows, and a document by address are each named."""
    (tmp_path / "odd").write_bytes(b"\xff\xfe\x00")

    assert "none: No such file" in told(run("stream", *MODEL, "-a", "none", "hi"))
    assert "odd is no image, document or sound whose first bytes are known" in told(
        run("stream", *MODEL, "-a", "odd", "hi")
    )
    assert "messages[0]" in told(run("stream", *MODEL, "-a", "https://x.example/a.pdf", "hi"))


def test_where_the_model_comes_from(
    run: Run, deepseek: MockProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`-m` goes before `LIMEN_MODEL`, and that before `[app] model` of the configuration (J10)."""
    route = f'[routes.r]\nadapter = "deepseek"\nbase_url = "{deepseek.base_url("openai-chat")}"\n'
    key = 'api_key_env = "DEEPSEEK_API_KEY"\n'
    (tmp_path / "limen.toml").write_text(f'[app]\nmodel = "r/configured"\n{route}{key}', encoding="utf-8")

    run("stream", "hi")
    monkeypatch.setenv("LIMEN_MODEL", "r/named")
    run("stream", "hi")
    run("stream", "-m", "r/given", "hi")

    assert [request.at("model") for request in deepseek.requests] == ["configured", "named", "given"]


def test_where_the_configuration_comes_from(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-c` on either side of the command, else LIMEN_CONFIG, else ./limen.toml, else the user's own file (J10)."""

    def write(file: Path, name: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'[routes.{name}]\nadapter = "fixture"\npath = "x.json"\n', encoding="utf-8")

    def names(*arguments: str) -> list[str]:
        return [json.loads(line)["route"] for line in run(*arguments).out.splitlines()]

    write(tmp_path / "home" / ".config" / "limen" / "limen.toml", "home")
    assert names("routes", "--json") == ["home"]
    write(tmp_path / "xdg" / "limen" / "limen.toml", "xdg")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert names("routes", "--json") == ["xdg"]
    write(tmp_path / "limen.toml", "here")
    assert names("routes", "--json") == ["here"]
    write(tmp_path / "named.toml", "named")
    monkeypatch.setenv("LIMEN_CONFIG", "named.toml")
    assert names("routes", "--json") == ["named"]
    write(tmp_path / "given.toml", "given")
    assert names("-c", "given.toml", "routes", "--json") == ["given"]
    assert names("routes", "-c", "given.toml", "--json") == ["given"]


@pytest.mark.usefixtures("deepseek")
def test_lists_as_json(run: Run) -> None:
    """routes, models and doctor print a line of JSON each with `--json` (J10)."""
    routes, models, doctor = (
        [json.loads(line) for line in run(name, "--json").out.splitlines()] for name in ("routes", "models", "doctor")
    )

    assert [row["route"] for row in routes] == ["deepseek"]
    assert {"route": "deepseek", "id": "mock-text"}.items() <= next(
        row for row in models if row["id"] == "mock-text"
    ).items()
    assert [finding["subject"] for finding in doctor] == ["configuration", "deepseek", "deepseek"]
    assert {finding["state"] for finding in doctor} == {"ok"}


@pytest.mark.parametrize(
    "name",
    [
        "stream",
        "chat",
        "routes",
        "models",
        "doctor",
        "decode",
        "request",
        "classify",
        "record",
        "replay",
        "trace",
        "mock",
        "check",
        "completion",
    ],
)
def test_help_has_an_example(run: Run, name: str) -> None:
    """`-h` and `--help` of each command are the same, with an example that begins like the command (J10)."""
    short, long = run(name, "-h"), run(name, "--help")

    assert short == long
    assert short.code == 0
    assert f"limen {name}" in short.out.partition("Such as:")[2]


@pytest.mark.parametrize(
    ("shell", "words"), [("bash", "complete"), ("zsh", "#compdef limen"), ("fish", "--command limen")]
)
def test_completion(run: Run, shell: str, words: str) -> None:
    """`limen completion SHELL` prints what makes the shell complete commands and options (J10)."""
    done = run("completion", shell)

    assert done.code == 0
    assert words in done.out


def test_completion_completes(tmp_path: Path) -> None:
    """The shell's question is answered with the commands that begin so."""
    asked = {"_LIMEN_COMPLETE": "bash_complete", "COMP_WORDS": "limen st", "COMP_CWORD": "1"}
    done = subprocess.run(
        [str(Path(sys.executable).with_name("limen"))],
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
        env=environment(tmp_path, asked),
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.stdout == "plain,stream\n"


def test_the_users_own_file_on_windows() -> None:
    """On Windows the user's own file is in %APPDATA%; without a home there is none."""
    assert user_file({"APPDATA": "C:/A", "HOME": "/h"}, platform="win32") == Path("C:/A/limen/limen.toml")
    assert user_file({}, platform="linux") is None


def test_a_header_without_a_colon(run: Run) -> None:
    """`classify` refuses a header that is none in place of leaving it out (J7)."""
    done = run("classify", "--wire", "openai-chat", "--status", "429", "--header", "retry-after", "-", stdin=b"{}")

    assert told(done) == "limen: INVALID_OPTIONS: a header is written 'name: value'; got 'retry-after'\n"


def test_a_body_of_another_wire(run: Run) -> None:
    """`decode` of another wire's body says which wire reads it (J7)."""
    content = b'"content":[{"type":"text","text":"hi"}]'
    body = b'{"type":"message","role":"assistant","model":"m",%b,"stop_reason":"end_turn"}' % content

    done = run("decode", "--wire", "openai-chat", "-", stdin=body)

    assert "the body is none of openai-chat; it reads as anthropic-messages: --wire anthropic-messages" in told(done)


def test_a_field_of_a_request_that_is_none(run: Run, tmp_path: Path) -> None:
    """`limen request --json` refuses a field that a request does not have (J5)."""
    (tmp_path / "limen.toml").write_text('[routes.main]\nadapter = "deepseek"\n', encoding="utf-8")

    assert "Object contains unknown field `temprature`" in told(
        run("request", "-m", "main/m", "--json", '{"temprature":1}')
    )


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal there")
def test_a_terminal_shows_controls_and_obeys_none(provider: MockProvider, tmp_path: Path) -> None:
    """On a terminal what would move the cursor or reorder the line is shown as an escape (J8)."""
    import pty

    provider.use(Script([Turn([Text("a\x1b]0;b\r\nc\u202ed")])]))
    setting = {"DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": provider.base_url("openai-chat"), "TERM": "dumb"}
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command("stream", "-q", "-m", "deepseek/m", "hello"),
        cwd=tmp_path,
        env=environment(tmp_path, setting),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
    ):
        os.close(theirs)
        seen = b"".join(iter(lambda: terminal_read(ours), b""))
    os.close(ours)

    assert seen.decode() == "a\\x1b]0;b\r\nc\\u202ed\r\n"


@pytest.mark.skipif(sys.platform == "win32", reason="a signal cannot be sent to one process there")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "0.0.0.0"])
def test_the_hints_of_the_mock_provider_work(tmp_path: Path, host: str) -> None:
    """Each line that `limen mock` prints is a command that gets the answer, and each request is logged (J9)."""
    with subprocess.Popen(
        command("mock", "--host", host),
        cwd=tmp_path,
        env=environment(tmp_path, {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        hints = [line.strip() for line in iter(process.stdout.readline, "Ctrl-C ends it\n")][1:]
        answers = []
        for hint in hints:
            *variables, _, name, flag, model, prompt = hint.split()
            answers.append(
                subprocess.run(
                    command(name, flag, model, prompt),
                    cwd=tmp_path,
                    env=environment(tmp_path, dict(one.split("=", 1) for one in variables)),
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=60,
                ).stdout
            )
        process.send_signal(signal.SIGINT)
        logged = process.communicate(timeout=30)[1].splitlines()

    assert answers == ["Hello from the mock provider.\n"] * len(hints)
    assert len(hints) == len(logged) >= 6
    assert all(line.startswith("POST /") for line in logged)


def test_what_the_mock_provider_says(provider: MockProvider, capfd: pytest.CaptureFixture[str]) -> None:
    """The address, a command line for each wire and one line on stderr for each request, without control characters."""
    _mock._announce(provider, "any-model")
    urllib.request.urlopen(f"{provider.base_url('openai-chat')}/models").close()

    out, err = capfd.readouterr()
    first, *hints, last = out.splitlines()
    assert (first, last) == (f"listening on {provider.url}", "Ctrl-C ends it")
    assert f"  OPENAI_API_KEY=mock OPENAI_BASE_URL={provider.base_url('openai-chat')} " in hints[0]
    assert err == "GET /v1/models · no wire\n"
