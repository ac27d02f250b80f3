"""The programs in examples/ run as they are written, against a provider on this machine."""

import asyncio
import http.client
import io
import runpy
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import uvicorn

from limen.testing.server import MockProvider, RecordedRequest, Script, Text, Turn
from surroundings import with_routes

pytest_plugins = ["pytester"]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
HELLO = "Hello from the mock provider.\n"


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MockProvider]:
    """A provider on this machine as the routes that the examples ask, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    with MockProvider("text") as running:
        with_routes(monkeypatch, running)
        yield running


def ran(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a program of the folder, and return what it printed."""
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def test_chat(provider: MockProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Each line is a turn, with the conversation so far in its request."""
    monkeypatch.setattr("sys.stdin", io.StringIO("one\ntwo\n"))

    assert ran("chat.py", capsys) == HELLO * 2
    assert [len(request.json["messages"]) for request in provider.requests] == [1, 3]  # type: ignore[arg-type] # unknown JSON


@pytest.mark.usefixtures("provider")
def test_batch_of_200(capsys: pytest.CaptureFixture[str]) -> None:
    """Two hundred questions have two hundred results."""
    assert ran("batch_of_200.py", capsys) == "200 results, 0 failed\n"


def test_fallback(provider: MockProvider, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the first provider refuses the key, the second one answers."""
    provider.use(lambda request: "text" if request.wire == "anthropic-messages" else "text+401")

    assert ran("fallback.py", capsys) == f"anthropic: {HELLO}"


def test_typed_answer(provider: MockProvider, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer's JSON is a value of the type, and its schema was in the request."""
    provider.use(Script([Turn([Text('{"place":"Paris","celsius":21.5}')])]))

    assert ran("typed_answer.py", capsys) == "Paris: 21.5 °C\n"
    assert provider.requests[0].at("response_format", "json_schema", "name") == "Weather"


def test_record_and_replay(provider: MockProvider, capsys: pytest.CaptureFixture[str]) -> None:
    """The first run records, and the second asks nobody."""
    assert [ran("record_and_replay.py", capsys) for _ in range(2)] == [HELLO] * 2
    assert len(provider.requests) == 1


@pytest.mark.usefixtures("provider")
def test_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    """The blocking calls show the answer, and then text and counts."""
    lines = ran("notebook.py", capsys).splitlines()

    assert lines[0] == HELLO.strip()
    assert lines[1].startswith(f"{HELLO.strip()} TokenUsage(input_tokens=12, output_tokens=7")


async def test_web_endpoint(provider: MockProvider) -> None:
    """The text comes as the body; a failure before the first event has a status of its own."""

    def answers(request: RecordedRequest) -> str:
        return "text+401" if b"refused" in request.body else "text"

    provider.use(answers)
    app = runpy.run_path(str(EXAMPLES / "web_endpoint.py"))["app"]
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port: int = listening.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="on"))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            bodies = [await asyncio.to_thread(got, port, path) for path in ("/?q=hello", "/?q=refused")]
        finally:
            server.should_exit = True
            await serving

    assert bodies == [(200, HELLO.strip()), (502, "AUTH")]


def got(port: int, path: str) -> tuple[int, str]:
    """Status and text of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    with closing(connection):
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def test_the_tests_of_an_agent(pytester: pytest.Pytester) -> None:
    """The example of a test suite passes as a test suite."""
    pytester.makeini("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makepyfile((EXAMPLES / "test_my_agent.py").read_text(encoding="utf-8"))

    pytester.runpytest_subprocess("-q").assert_outcomes(passed=3)
