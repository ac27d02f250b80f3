"""The commands beside `stream`: what is configured, what would be sent, what was answered, fixtures, the mock."""

import json
import re
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import limen
from cli._command import KEY, Done, Run
from limen import _compose
from limen.cli import _mock
from limen.testing.server import MockProvider

CHAT = (
    b'data: {"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\n'
    b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}\n\ndata: [DONE]\n\n'
)


def configured(folder: Path, text: str) -> None:
    """Write a configuration."""
    (folder / "limen.toml").write_text(text, encoding="utf-8")


def test_version(run: Run) -> None:
    """`--version` is the package's own, with nothing else asked for."""
    assert run("--version") == Done(0, f"limen {limen.__version__}\n", "")


def test_help_is_for_those_who_ask(run: Run) -> None:
    """`--help` is success on stdout; no command at all is wrong usage, with the help on stderr."""
    asked, silent, group = run("--help"), run(), run("fixture")

    assert (asked.code, asked.err) == (0, "")
    assert "stream" in asked.out
    assert (silent.code, silent.out, group.code, group.out) == (2, "", 2, "")
    assert silent.err.rstrip() == asked.out.rstrip()
    assert "check" in group.err


def test_routes(run: Run, tmp_path: Path) -> None:
    """`limen routes` shows adapter, address and where the key comes from, never the key."""
    configured(
        tmp_path,
        """
[routes.deepseek]
adapter = "deepseek"
api_key_env = "LIMEN_TEST_KEY"
[routes.work]
adapter = "openai-chat"
dialect = "openrouter"
base_url = "https://router.example/v1"
api_key_file = "/run/secrets/router"
[routes.local]
adapter = "openai-chat"
base_url = "http://127.0.0.1:8080/v1"
[routes.demo]
adapter = "fixture"
path = "provider-tool-roundtrip.json"
""",
    )

    assert run("routes") == Done(
        0,
        "ROUTE     ADAPTER                   ADDRESS                       KEY FROM\n"
        "deepseek  deepseek                  https://api.deepseek.com      the environment variable LIMEN_TEST_KEY\n"
        "work      openai-chat (openrouter)  https://router.example/v1     the file /run/secrets/router\n"
        "local     openai-chat (generic)     http://127.0.0.1:8080/v1      no key is named\n"
        "demo      fixture                   provider-tool-roundtrip.json  no key is named\n",
        "",
    )


def test_routes_of_an_empty_environment(run: Run) -> None:
    """No route at all is said as such, with what makes one."""
    done = run("routes")

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("limen: NO_ADAPTER: there is no route: set a provider's key")


def test_models(run: Run, deepseek: MockProvider, tmp_path: Path) -> None:
    """`limen models` asks the provider where it has a list, and shows what is configured where it has none."""
    configured(
        tmp_path,
        f"""
[routes.deepseek]
adapter = "deepseek"
base_url = "{deepseek.base_url("openai-chat")}"
api_key_env = "DEEPSEEK_API_KEY"
[[routes.deepseek.models]]
id = "mock-text"
context_window = 64000
max_tokens = 8000
input = ["text"]
efforts = ["off", "high"]
[routes.demo]
adapter = "fixture"
path = "provider-tool-roundtrip.json"
""",
    )

    every, one, none, unknown = run("models"), run("models", "deepseek"), run("models", "demo"), run("models", "other")

    lines = [line.split() for line in every.out.splitlines()]
    assert lines[0] == ["MODEL", "CONTEXT", "MAX", "TOKENS", "INPUT", "EFFORTS"]
    assert ["deepseek/mock-text", "64000", "8000", "text", "off,high"] in lines
    assert ["deepseek/mock-tools", "-", "-", "-", "-"] in lines
    assert (every.code, every.err, one.out) == (0, "", every.out)
    assert none == Done(0, "no models are known; a model's id may still be used, or listed in limen.toml\n", "")
    assert (unknown.code, unknown.out) == (2, "")
    assert unknown.err.startswith("limen: NO_ADAPTER: there is no route 'other'; there are deepseek, demo")


class Refusing(BaseHTTPRequestHandler):
    """Answers everything with a refusal of the key, which it quotes."""

    def do_GET(self) -> None:
        """Refuse."""
        body = json.dumps({"error": {"message": f"bad key {self.headers['Authorization']}"}}).encode()
        self.send_response(404 if "elsewhere" in self.path else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name for it
        """Say nothing."""


@pytest.fixture
def refusing() -> Iterator[str]:
    """The address of a provider that refuses every key."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_models_of_a_provider_that_refuses(run: Run, refusing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A route that fails is told on stderr, scrubbed, and the exit code is 1 (E5)."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
    monkeypatch.setenv("DEEPSEEK_BASE_URL", refusing)

    done = run("models")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("limen: AUTH: bad key ")
    assert "canary" not in done.err


def test_doctor_of_what_is_well(run: Run, deepseek: MockProvider, tmp_path: Path) -> None:
    """Configuration, key and provider are looked at and found well; exit code 0."""
    configured(
        tmp_path,
        f"""
[routes.main]
adapter = "deepseek"
base_url = "{deepseek.base_url("openai-chat")}"
api_key_env = "DEEPSEEK_API_KEY"
[routes.demo]
adapter = "fixture"
path = "provider-tool-roundtrip.json"
""",
    )

    here, online = run("doctor"), run("doctor", "--online")

    words = (
        "ok     configuration: read from limen.toml, 2 routes\n"
        f"ok     main: adapter deepseek at {deepseek.base_url('openai-chat')}\n"
        "ok     main: there is a key in the environment variable DEEPSEEK_API_KEY (api_key_env of [routes.main])\n"
        "{}"
        "ok     demo: adapter fixture\n"
        "ok     demo: no key is named and none is sent\n"
        "{}"
    )
    assert here == Done(0, words.format("", ""), "")
    assert (online.code, online.err) == (0, "")
    assert "ok     main: answers, and lists 25 models\n" in online.out
    assert len(deepseek.requests) == 1


def test_doctor_of_what_is_not(run: Run, refusing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each finding says what to do next; exit code 1; no part of a key is shown (E5)."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
    monkeypatch.setenv("LIMEN_BAD_KEY", "canary with spaces")
    monkeypatch.setenv("HTTPS_PROXY", "http://user:canary@proxy.example:1")
    with MockProvider(listen="refuse") as silent:
        configured(
            tmp_path,
            f"""
[routes.wrong]
adapter = "deepsek"
[routes.none]
adapter = "deepseek"
base_url = "https://deepseek.example"
[routes.unset]
adapter = "deepseek"
api_key_env = "LIMEN_UNSET_KEY"
[routes.bad]
adapter = "deepseek"
api_key_env = "LIMEN_BAD_KEY"
[routes.refused]
adapter = "deepseek"
base_url = "{refusing}"
api_key_env = "DEEPSEEK_API_KEY"
[routes.elsewhere]
adapter = "openai-chat"
base_url = "{refusing}/elsewhere"
[routes.silent]
adapter = "openai-chat"
base_url = "{silent.base_url("openai-chat")}"
""",
        )
        done = run("doctor", "--online")

    assert done.code == 1
    assert done.err == "limen: INVALID_CONFIG: 7 of these need something done; the arrows say what\n"
    assert "canary" not in done.out + done.err
    for words in (
        "note   proxy: the environment names one for https\n",
        "FAULT  wrong: limen.toml: routes.wrong - there is no adapter 'deepsek'; there are ",
        "       → change it in [routes.wrong]\n",
        "FAULT  none: the provider asks for a key and the route names none\n"
        '       → write api_key_env = "DEEPSEEK_API_KEY" into [routes.none], and set that variable\n',
        "FAULT  unset: there is no key in the environment variable LIMEN_UNSET_KEY (api_key_env of [routes.unset])\n"
        "       → put the key into the environment variable LIMEN_UNSET_KEY",
        "FAULT  bad: the key from the environment variable LIMEN_BAD_KEY",
        "FAULT  refused: AUTH: ",
        "       → the provider refuses the key: make a new one, and check that it is for this address\n",
        "FAULT  elsewhere: HTTP_404: ",
        "       → check base_url and dialect in [routes.elsewhere]\n",
        "FAULT  silent: TRANSPORT: ",
        "       → check base_url in [routes.silent], the network and the proxy\n",
    ):
        assert words in done.out


def test_doctor_of_a_route_that_names_no_key(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the provider's own address its conventional variable holds the key; another address gets none unasked (K4)."""
    route = '[routes.{}]\nadapter = "deepseek"\n'
    configured(tmp_path, route.format("own") + route.format("moved") + 'base_url = "https://elsewhere.example"\n')
    monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)

    done = run("doctor")

    words = "ok     own: there is a key in the environment variable DEEPSEEK_API_KEY (as [routes.own] names no key)\n"
    assert words in done.out
    assert "FAULT  moved: the provider asks for a key and the route names none\n" in done.out


def test_doctor_of_credentials_that_the_adapter_looks_for(run: Run, tmp_path: Path) -> None:
    """Where the adapter takes Google's or Amazon's own credentials, doctor says so, and not that nothing is sent."""
    configured(
        tmp_path,
        '[routes.v]\nadapter = "gemini"\noptions = { project = "my-project" }\n'
        '[routes.b]\nadapter = "bedrock"\noptions = { region = "us-east-1" }\n',
    )

    lines = [line for line in run("doctor").out.splitlines() if line.startswith("note")]

    assert lines == [
        "note   v: no key is named; a call takes Google's application default credentials",
        "note   b: no key is named; a call takes those of botocore's chain (environment, profile, role)",
    ]


def test_doctor_of_a_key_that_cannot_be_read(run: Run, tmp_path: Path) -> None:
    """The remedy fits the fault: a place that cannot be read wants another one, not another key (K4)."""
    configured(tmp_path, f'[routes.main]\nadapter = "deepseek"\napi_key_file = "{tmp_path}"\n')
    done = run("doctor")

    assert (done.code, done.out.splitlines()[2:]) == (
        1,
        [
            f"FAULT  main: the file {tmp_path} (api_key_file of [routes.main]) cannot be read: Is a directory",
            "       → name another in [routes.main]",
        ],
    )


def test_doctor_without_routes(run: Run) -> None:
    """An empty environment is a finding that lists every key that is looked for."""
    done = run("doctor")

    assert done.code == 1
    assert "FAULT  routes: there is none\n" in done.out
    assert "DEEPSEEK_API_KEY" in done.out
    assert done.err == "limen: INVALID_CONFIG: 1 of these needs something done; the arrow says what\n"


def test_doctor_of_a_broken_file(run: Run, tmp_path: Path) -> None:
    """A configuration that does not validate is one line with its place; exit code 2 (K5)."""
    configured(tmp_path, f"[routes.a]\nadapter = 'deepseek'\napi_key = '{KEY}'\n")

    done = run("doctor")

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("limen: INVALID_CONFIG: limen.toml:3: routes.a.api_key - this looks like a key itself; ")
    assert "canary" not in done.err


def test_decode(run: Run, tmp_path: Path) -> None:
    """A raw body becomes what a stream would have shown, or chunks as JSON lines (C16)."""
    (tmp_path / "body").write_bytes(CHAT)

    assert run("decode", "--wire", "openai-chat", "body") == Done(0, "Hello\n", "input: 3 · output: 1 · finish: stop\n")
    lines = run("decode", "--wire", "openai-chat", "--dialect", "deepseek", "--json", "-", stdin=CHAT)
    assert [type(limen.decode_chunk(line)).__name__ for line in lines.out.splitlines()] == [
        "BlockStart",
        "TextDelta",
        "BlockEnd",
        "UsageChunk",
        "Finish",
    ]


def test_decode_of_what_is_broken(run: Run, tmp_path: Path) -> None:
    """What had arrived stays on stdout; a missing file and an unknown wire are wrong usage."""
    (tmp_path / "body").write_bytes(CHAT[:-80])

    cut = run("decode", "--wire", "openai-chat", "--dialect", "deepseek", "body")

    assert (cut.code, cut.out) == (1, "Hello\n")
    assert cut.err.startswith("limen: STREAM_CLOSED: ")
    assert run("decode", "--wire", "openai-chat", "none") == Done(
        2, "", "limen: INVALID_OPTIONS: none: No such file or directory\n"
    )
    assert run("decode", "--wire", "morse", "body") == Done(
        2, "", f"limen: UNSUPPORTED: there is no wire 'morse'; there are {', '.join(limen.wires())}\n"
    )


def test_request(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`limen request` shows what would be sent, masked; nothing is sent and no key is needed."""
    configured(tmp_path, '[routes.main]\nadapter = "deepseek"\napi_key_env = "LIMEN_TEST_KEY"\n')
    monkeypatch.setenv("LIMEN_TEST_KEY", KEY)
    options = {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "maxTokens": 7}

    inline = run("request", "-m", "main/m", "--json", json.dumps(options))
    piped = run("request", "-m", "main/m", "--json", "-", stdin=json.dumps(options).encode())

    head, _, body = inline.out.partition("\n\n")
    sent: dict[str, object] = json.loads(body)
    assert head.splitlines()[0] == "POST https://api.deepseek.com/chat/completions"
    assert (sent["model"], sent["max_tokens"]) == ("m", 7)
    assert (inline.code, inline.err, piped.out) == (0, "", inline.out)
    assert "canary" not in inline.out


def test_a_request_is_the_one_that_a_call_sends(
    run: Run, provider: MockProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is shown has the route's models, limits and headers and the application, as the call has them (R4, Q7)."""
    monkeypatch.setenv("LIMEN_TEST_KEY", KEY)
    configured(
        tmp_path,
        '[routes.main]\nadapter = "anthropic-messages"\napi_key_env = "LIMEN_TEST_KEY"\n'
        f'base_url = "{provider.base_url("anthropic-messages")}"\nheaders = {{ "x-team" = "blue" }}\n'
        'models = [{ id = "m", max_tokens = 77, efforts = ["low"] }]\n',
    )
    options = {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}

    shown = run("request", "-m", "main/m", "--json", json.dumps(options))
    refused = run("request", "-m", "main/m", "--json", json.dumps({**options, "reasoningEffort": "high"}))
    assert (len(provider.requests), run("stream", "-m", "main/m", "hi").code) == (0, 0)

    (sent,) = provider.requests
    head, _, body = shown.out.partition("\n\n")
    first, *lines = head.splitlines()
    headers: dict[str, str] = dict(line.split(": ", 1) for line in lines)
    assert first == f"POST {provider.url}{sent.target}"
    assert headers.pop("x-api-key") == "[redacted]"
    assert {name: sent.header(name) for name in headers} == headers
    assert {"x-team", "user-agent", "accept-encoding", "anthropic-version"} < set(headers)
    assert json.loads(body) == sent.json
    assert refused.err.startswith("limen: UNSUPPORTED_REASONING_EFFORT: the model 'm' of the route 'main'")
    assert (shown.code, shown.err, refused.code, refused.out) == (0, "", 2, "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("{", "INVALID_OPTIONS: the request is not a JSON object: "),
        ('{"messages": 3}', "INVALID_OPTIONS: this is not the JSON of a request: "),
        ("none.json", "INVALID_OPTIONS: none.json: No such file or directory"),
        ('{"messages": [{"role": "assistant", "content": []}]}', "INVALID_OPTIONS: messages[0]"),
        (
            '{"seed": 3, "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}',
            "UNSUPPORTED: seed cannot be sent",
        ),
    ],
)
def test_a_request_that_is_none(run: Run, tmp_path: Path, options: str, message: str) -> None:
    """A request that is no JSON, of another shape or refused by the wire is one line; exit code 2."""
    configured(tmp_path, '[routes.main]\nadapter = "deepseek"\n')

    done = run("request", "-m", "main/m", "--json", options)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"limen: {message}")


def test_requests_that_have_no_wire(run: Run, tmp_path: Path) -> None:
    """A route that is not there, and one that sends nothing over HTTP, are said as such."""
    configured(tmp_path, '[routes.demo]\nadapter = "fixture"\npath = "provider-tool-roundtrip.json"\n')

    assert run("request", "-m", "other/m", "--json", "{}").err == (
        "limen: INVALID_OPTIONS: there is no route 'other'; `limen routes` lists those there are\n"
    )
    assert run("request", "-m", "demo/m", "--json", "{}").err == (
        "limen: INVALID_OPTIONS: the adapter fixture of 'demo' sends nothing over HTTP that could be shown\n"
    )


def test_classify(run: Run, tmp_path: Path) -> None:
    """An error's status, headers and body become its failure, as JSON (E1, E3)."""
    (tmp_path / "body").write_bytes(b'{"error":{"message":"slow down","code":"rate_limit_exceeded"}}')

    done = run("classify", "--wire", "openai-chat", "--status", "429", "--header", "Retry-After: 2", "body")

    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == {
        "message": "slow down",
        "code": "RATE_LIMIT",
        "phase": "headers",
        "status": 429,
        "providerCode": "rate_limit_exceeded",
        "providerRetryAfterMs": 2000,
    }


def test_fixture_run(run: Run, tmp_path: Path) -> None:
    """`fixture run` prints chunks and responses as JSON lines; a failure is its code, record and sentence."""
    whole = run("fixture", "run", "provider-tool-roundtrip.json", "--request-id", "r-7")
    (tmp_path / "cut.json").write_text(
        json.dumps(
            {
                "schemaVersion": 1,
                "responses": [
                    {
                        "records": [
                            {"type": "response_start", "responseId": "r", "role": "assistant"},
                            {"type": "text_delta", "text": "The"},
                        ]
                    }
                ],
            }
        ),
        encoding="utf-8",
    )
    cut = run("fixture", "run", "cut.json")

    lines = [json.loads(line) for line in whole.out.splitlines()]
    assert [line.get("type", "response") for line in lines] == ["toolCall", "response", "textDelta", "response"]
    assert {line["requestId"] for line in lines} == {"r-7"}
    assert (whole.code, whole.err) == (0, "")
    assert (cut.code, json.loads(cut.out)["delta"]) == (1, "The")
    assert cut.err.startswith("limen: PROVIDER_MISSING_TERMINAL: ")


def test_fixture_check(run: Run, tmp_path: Path) -> None:
    """`fixture check` says what is wrong with the path inside the file, without playing it."""
    (tmp_path / "bad.json").write_text(
        json.dumps({"schemaVersion": 1, "responses": [{"records": [{"type": "text_delta", "text": "x"}]}, {}]}),
        encoding="utf-8",
    )

    good, bad = run("fixture", "check", "provider-tool-roundtrip.json"), run("fixture", "check", "bad.json")

    assert good == Done(0, "provider-tool-roundtrip.json: well-formed\n", "")
    assert bad.code == 1
    assert len(bad.out.splitlines()) == 2
    assert "records[0]: PROVIDER_MISSING_START" in bad.out
    assert bad.err.startswith("limen: PROVIDER_INVALID_FIXTURE: bad.json has 2 faults")
    for command in ("check", "run"):
        missing = run("fixture", command, "none.json")
        assert missing.err.startswith("limen: PROVIDER_INVALID_FIXTURE: none.json: ")
        assert missing.out == ""


def test_fixture_check_of_one_fault(run: Run, tmp_path: Path) -> None:
    """One fault is told as one."""
    (tmp_path / "bad.json").write_text('{"schemaVersion": 1, "responses": [{}]}', encoding="utf-8")

    assert run("fixture", "check", "bad.json").err == (
        "limen: PROVIDER_INVALID_FIXTURE: bad.json has a fault; the line says where\n"
    )


def test_a_request_without_an_id(run: Run) -> None:
    """A blank request id is wrong usage, not a bug to report."""
    assert run("fixture", "run", "provider-tool-roundtrip.json", "--request-id", " ") == Done(
        2, "", "limen: INVALID_OPTIONS: a request's id is not blank\n"
    )


def test_models_of_a_route_without_its_key(run: Run, tmp_path: Path) -> None:
    """A key that is not there is a fault of the configuration: exit code 2, as for a call (K4)."""
    configured(tmp_path, '[routes.d]\nadapter = "deepseek"\napi_key_env = "NOT_SET_KEY"\n')

    done = run("models")

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("limen: MISSING_CREDENTIAL: the route d has no key: ")


def test_mock_lists_what_it_can_do(run: Run) -> None:
    """`limen mock --list` names the scripts and the faults."""
    done = run("mock", "--list")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("scripts: text, ")
    assert "\nfaults:\n  cut " in done.out


def test_mock_without_its_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without h11 the command says what to install."""
    monkeypatch.setitem(sys.modules, "limen.testing.server", None)

    assert run("mock") == Done(
        2, "", "limen: INVALID_OPTIONS: the mock provider needs h11: pip install 'limen[mock]'\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--scenario", "nope"), "there is no scenario 'nope'; there are "),
        (("--fault", "nope"), ""),
        (("--listen", "nope"), "the mock provider cannot listen as 'nope'; it can as http, refuse, tls, plain-on-tls"),
        (("--scenario", "text", "--script", "x.json"), "--scenario and --script are both given"),
        (("--script", "none.json"), "none.json: No such file or directory"),
        (("--script", "bad.json"), "bad.json is no script: "),
        (("--host", "203.0.113.1"), "cannot listen on 203.0.113.1:0: "),
        (("--port", "70000"), "Invalid value for '--port'"),
    ],
)
def test_mock_that_cannot_begin(run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    """What the mock provider cannot do is one line that names it; exit code 2."""
    (tmp_path / "bad.json").write_text('{"turns": 3}', encoding="utf-8")

    done = run("mock", *arguments)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"limen: INVALID_OPTIONS: {message}")
    assert done.err.count("\n") == 1


def test_a_route_without_dialect_and_key_is_the_providers_own(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`routes`, `doctor` and the request agree on the dialect, and so on the provider's own key."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    configured(tmp_path, '[routes.work]\nadapter = "openai-chat"\n')

    routes, doctor = run("routes"), run("doctor")
    request = run(
        "request", "-m", "work/m", "--json", '{"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}'
    )

    assert (routes.code, doctor.code, request.code) == (0, 0, 0), (routes, doctor, request)
    assert re.split(" {2,}", routes.out.splitlines()[1]) == [
        "work",
        "openai-chat (openai)",
        "https://api.openai.com/v1",
        "the environment variable OPENAI_API_KEY",
    ]
    assert "work: there is a key in the environment variable OPENAI_API_KEY" in doctor.out
    assert "POST https://api.openai.com/v1/chat/completions" in request.out
    assert "authorization: Bearer [redacted]" in request.out


def test_an_address_of_the_environment_that_cannot_be_used(
    run: Run, deepseek: MockProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong address in the environment is a fault of its own route: `doctor` names the variable, the others work."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://far.example/v1")

    doctor, other, own = (
        run("doctor"),
        run("stream", "-m", "deepseek/mock-text", "hi"),
        run("stream", "-m", "openai/m", "hi"),
    )

    words = "the environment variable OPENAI_BASE_URL - base_url is plain http to another machine"
    assert (doctor.code, other.code, own.code) == (1, 0, 2)
    assert f"FAULT  openai: {words}" in doctor.out
    assert "→ change it in the environment variable OPENAI_BASE_URL" in doctor.out
    assert own.err.startswith(f"limen: INVALID_CONFIG: {words}")
    assert KEY not in doctor.out + doctor.err + own.out + own.err


def test_a_route_that_its_adapter_does_not_have(run: Run, tmp_path: Path) -> None:
    """`routes` lists a route whose settings are wrong as it is written, and says what is wrong with it."""
    configured(
        tmp_path,
        '[routes.good]\nadapter = "deepseek"\napi_key_env = "SOME_KEY"\n'
        '[routes.bad]\nadapter = "deepseek"\napi_key_env = "SOME_KEY"\noptions = { tone = "formal" }\n',
    )

    done = run("routes")

    assert [line.split()[0] for line in done.out.splitlines()] == ["ROUTE", "good", "bad"]
    assert done.code == 2
    assert done.err.startswith("limen: INVALID_CONFIG: routes.bad.options.tone - unknown key of the adapter deepseek")


def test_doctor_names_a_distribution_that_cannot_be_imported(
    run: Run, deepseek: MockProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A distribution whose adapter cannot be loaded is a note with its reason, and harms no route."""
    information = tmp_path / "broken_adapters-2.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-adapters\nVersion: 2.0\n")
    (information / "entry_points.txt").write_text("[limen.adapters]\nbroken = broken_adapters:SPEC\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    doctor, call = run("doctor"), run("stream", "-m", "deepseek/mock-text", "hi")

    assert (doctor.code, call.code) == (0, 0), doctor
    assert (
        "note   adapter broken: broken_adapters:SPEC of broken-adapters 2.0, which the adapter broken names, cannot be "
        "loaded: ModuleNotFoundError: No module named 'broken_adapters'"
    ) in doctor.out


def test_doctor_of_a_key_without_an_address(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider whose address each user has another of is asked for it, in place of the key that is set (J4)."""
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)

    done = run("doctor")

    assert (done.code, done.out) == (
        1,
        "ok     configuration: read from the environment, 0 routes\n"
        "FAULT  azure: AZURE_OPENAI_API_KEY is set, and the address is missing, which every user of azure has another "
        "of\n       \N{RIGHTWARDS ARROW} set AZURE_OPENAI_BASE_URL too, or write [routes.azure] into limen.toml\n",
    )


def test_doctor_without_routes_lists_every_variable(run: Run) -> None:
    """Every variable that makes a route is named, not the first of each provider alone (J4)."""
    done = run("doctor")

    missing = [name for name in ("KIMI_API_KEY", "MOONSHOT_API_KEY", "SGLANG_BASE_URL") if name not in done.out]
    assert missing == []


def test_doctor_looks_at_secret_headers(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret header without a value is a finding, one with a value is well; the value is never shown (K1, E5)."""
    address = "base_url = 'https://a.example/v1'"
    headers = "headers_env = { X-One = 'ONE', X-Two = 'TWO', X-Three = 'THREE' }"
    configured(tmp_path, f"[routes.a]\nadapter = 'openai-chat'\ndialect = 'openai'\n{address}\n{headers}\n")
    monkeypatch.setenv("ONE", "hush/0123")
    monkeypatch.setenv("THREE", "hush/\udc80")

    done = run("doctor")

    place = "(headers_env of [routes.a] for the header"
    for words in (
        "ok     a: no key is named; the route's own headers carry the credential\n",
        f"ok     a: the header X-One has a value in the environment variable ONE {place} X-One)\n",
        f"FAULT  a: the header X-Two has no value in the environment variable TWO {place} X-Two)\n",
        f"FAULT  a: the header's value from the environment variable THREE {place} X-Three) cannot be sent",
    ):
        assert words in done.out
    assert (done.code, "hush" in done.out + done.err) == (1, False)


def test_doctor_of_a_key_that_is_no_unicode(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key with half a surrogate is a finding that names its place and shows no part of it (K3, E5)."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", "hush/0123\udc80")

    done = run("doctor")

    assert "FAULT  deepseek: the key from the environment variable DEEPSEEK_API_KEY cannot be sent" in done.out
    assert (done.code, "hush" in done.out + done.err) == (1, False)


def test_mock_leaves_out_a_description_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A description of another distribution that fails to load, or is none, is named, and the others are served."""
    complaints: list[str] = []
    places = {
        "openai-chat": "limen.testing.wires.openai_chat:WIRE",
        "broken": "no_such_module:WIRE",
        "odd": "limen:__version__",
        "fine": "limen.testing.wires.openai_chat:WIRE",
    }
    monkeypatch.setattr(_compose, "descriptions", lambda: places)
    monkeypatch.setattr(_mock, "complain", lambda code, words: complaints.append(f"{code}: {words}"))

    found = _mock._other_wires()

    assert [wire.name for wire in found] == ["openai-chat"]
    assert complaints == [
        "INVALID_CONFIG: the wire broken is not served: its description no_such_module:WIRE is unusable: "
        "ModuleNotFoundError: No module named 'no_such_module'",
        "INVALID_CONFIG: the wire odd is not served: its description limen:__version__ is unusable: it is a str",
    ]


def test_check_of_an_unknown_wire(run: Run) -> None:
    """A wire that nobody describes is wrong usage, and the message says which there are."""
    done = run("check", "a:b", "--wire", "telegraph")

    assert done.code == 2
    assert (
        f"there is no wire 'telegraph' with a description; there are {', '.join(_compose.descriptions())}" in done.err
    )


def test_check_of_a_wire_of_ones_own(run: Run) -> None:
    """A description is given as `module:attribute`, and one that cannot be found is named."""
    done = run("check", "json:dumps", "--wire", "no.such:description")

    assert done.code == 2
    assert "no.such:description" in done.err
