"""An adapter of another distribution behind every command: nothing in limen knows it, and nothing treats it apart."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
from acme_limen.conformance import WIRE

from cli._command import KEY, Done, command, environment
from limen.testing.server import MockProvider

ACME = Path(__file__).parent / "acme-limen"
ANSWER = b'{"say":"Hel"}\n{"say":"lo"}\n{"end":"done","count":{"in":3,"out":1}}\n{"bye":true}\n'


class Limen(Protocol):
    """Runs `limen` with these arguments in a process of its own, in one folder."""

    def __call__(self, *arguments: str) -> Done:
        """Run it."""
        ...


@pytest.fixture
def mock() -> Iterator[MockProvider]:
    """Acme on this machine."""
    with MockProvider(wires=(WIRE,)) as running:
        yield running


@pytest.fixture
def process(mock: MockProvider, tmp_path: Path) -> dict[str, str]:
    """The environment of a process that finds Acme's distribution, its key and its address."""
    acme = {
        "ACME_API_KEY": KEY,
        "ACME_BASE_URL": mock.base_url("acme-lines"),
        "PYTHONPATH": f"{ACME / 'src'}{os.pathsep}{ACME / 'metadata'}",
    }
    return environment(tmp_path, acme)


@pytest.fixture
def limen(process: dict[str, str], tmp_path: Path) -> Limen:
    """The command."""

    def run(*arguments: str) -> Done:
        done = subprocess.run(
            command(*arguments), cwd=tmp_path, env=process, capture_output=True, text=True, timeout=120, check=False
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run


def test_routes(limen: Limen, mock: MockProvider) -> None:
    """Acme's key in the environment makes a route, as those of limen's own providers do."""
    done = limen("routes")

    assert (done.code, done.err) == (0, "")
    assert [re.split(" {2,}", line) for line in done.out.splitlines()[1:]] == [
        ["acme", "acme", mock.base_url("acme-lines"), "the environment variable ACME_API_KEY"]
    ]


def test_doctor(limen: Limen, mock: MockProvider) -> None:
    """`limen doctor` finds Acme's address and key."""
    done = limen("doctor")

    assert done == Done(
        0,
        "ok     configuration: read from the environment, 1 route\n"
        f"ok     acme: adapter acme at {mock.base_url('acme-lines')}\n"
        "ok     acme: there is a key in the environment variable ACME_API_KEY\n",
        "",
    )


def test_models(limen: Limen, tmp_path: Path) -> None:
    """`limen models` shows what is configured where the wire has no list."""
    (tmp_path / "limen.toml").write_text(
        '[routes.work]\nadapter = "acme"\noptions = { tone = "formal" }\n'
        'models = [{ id = "acme-1", context_window = 8000, max_tokens = 500 }]\n',
        encoding="utf-8",
    )

    done = limen("models")

    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[1].split() == ["work/acme-1", "8000", "500", "-", "-"]


def test_stream(limen: Limen, mock: MockProvider) -> None:
    """`limen stream` calls Acme with its key in the header that Acme has for it."""
    done = limen("stream", "-m", "acme/mock-text", "--json", "Hello")

    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out.splitlines()[-1]) == {"type": "finish", "reason": {"kind": "stop"}}
    assert mock.requests[0].header("x-acme-key") == KEY


def test_request(limen: Limen, mock: MockProvider, tmp_path: Path) -> None:
    """`limen request` shows what would be sent, the route's own option in it and the key masked."""
    (tmp_path / "limen.toml").write_text(
        f'[routes.work]\nadapter = "acme"\nbase_url = "{mock.base_url("acme-lines")}"\napi_key_env = "ACME_API_KEY"\n'
        'options = { tone = "formal" }\n',
        encoding="utf-8",
    )
    history = '{"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}],"maxTokens":9}'

    done = limen("request", "-m", "work/acme-1", "--json", history)

    head, _, body = done.out.partition("\n\n")
    assert (done.code, done.err) == (0, "")
    assert head.splitlines()[0] == f"POST {mock.base_url('acme-lines')}/generate"
    assert {"x-acme-key: [redacted]", "x-acme-tone: formal"} <= {*head.splitlines()}
    assert json.loads(body) == {"model": "acme-1", "turns": [{"who": "user", "say": "Hi"}], "limit": 9}
    assert mock.requests == []


def test_decode_and_classify(limen: Limen, tmp_path: Path) -> None:
    """`limen decode` and `limen classify` read Acme's bytes by the name of its wire."""
    (tmp_path / "answer").write_bytes(ANSWER)
    (tmp_path / "error").write_bytes(b'{"error":{"message":"no such model","code":"model_not_found"}}')

    decoded = limen("decode", "answer", "--wire", "acme-lines", "--json")
    classified = limen("classify", "error", "--wire", "acme-lines", "--status", "404")

    assert (decoded.code, decoded.err, classified.code, classified.err) == (0, "", 0, "")
    assert [json.loads(line) for line in decoded.out.splitlines()] == [
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "text-delta", "index": 0, "text": "Hel"},
        {"type": "text-delta", "index": 0, "text": "lo"},
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": "Hello"}},
        {"type": "usage", "usage": {"inputTokens": 3, "outputTokens": 1}},
        {"type": "finish", "reason": {"kind": "stop"}},
    ]
    assert json.loads(classified.out)["code"] == "MODEL_NOT_FOUND"


def test_record_replay_trace_and_a_cassette(limen: Limen, mock: MockProvider, tmp_path: Path) -> None:
    """A call of Acme's is recorded without its key, replayed, traced, and serves as a route."""
    recorded = limen("record", "--out", "calls.json", "--", "stream", "-m", "acme/mock-text", "--json", "Hello")
    kept = (tmp_path / "calls.json").read_text(encoding="utf-8")
    replayed = limen("replay", "calls.json", "--json")
    traced = limen("trace", "calls.json", "--json")
    (tmp_path / "limen.toml").write_text('[routes.acme]\nadapter = "cassette"\npath = "calls.json"\n', encoding="utf-8")
    served = limen("stream", "-m", "acme/mock-text", "--json", "Hello")

    assert [recorded.code, replayed.code, traced.code, served.code] == [0, 0, 0, 0], (recorded, traced, served)
    assert recorded.out == replayed.out == served.out
    assert json.loads(traced.out)["route"] == "acme"
    assert (KEY in kept, '"acme-lines"' in kept, len(mock.requests)) == (False, True, 1)


def test_check_by_name(limen: Limen) -> None:
    """`limen check --wire acme-lines` finds the description through the registration."""
    done = limen("check", "acme_limen.conformance:make", "--wire", "acme-lines", "--basics")
    unknown = limen("check", "acme_limen.conformance:make", "--wire", "morse")

    assert (done.code, done.err) == (0, ""), done.out
    assert "make on acme-lines" in done.out
    assert unknown.code == 2
    assert "there is no wire 'morse'" in unknown.err
    assert "acme-lines" in unknown.err


def test_mock(limen: Limen, process: dict[str, str], tmp_path: Path) -> None:
    """`limen mock` serves Acme's wire beside limen's own, from the description that the registration names."""
    serving = subprocess.Popen(
        command("mock", "--scenario", "text"), cwd=tmp_path, env=process, stdout=subprocess.PIPE, text=True
    )
    try:
        assert serving.stdout is not None
        url = serving.stdout.readline().strip().removeprefix("listening on ")
        (tmp_path / "limen.toml").write_text(
            f'[routes.work]\nadapter = "acme"\nbase_url = "{url}/v3"\napi_key_env = "ACME_API_KEY"\n', encoding="utf-8"
        )
        done = limen("stream", "-m", "work/acme-1", "--json", "Hello")
    finally:
        serving.terminate()
        serving.wait(timeout=30)
        if serving.stdout is not None:
            serving.stdout.close()

    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out.splitlines()[-1]) == {"type": "finish", "reason": {"kind": "stop"}}
