"""`limen record`, `replay`, `trace`, `check`: thin over the recorder, the parser and the judge."""

import json
from pathlib import Path

import pytest

from cli._command import KEY, Done, Run
from limen.testing.server import MockProvider

TEXT = "Hello from the mock provider.\n"
COUNTS = "input: 12 · output: 7 · finish: stop\n"


def record(run: Run, model: str = "mock-text", *options: str) -> Done:
    """Record one call."""
    return run("record", "--out", "calls.json", *options, "--", "stream", "-m", f"deepseek/{model}", "hello")


@pytest.mark.usefixtures("deepseek")
def test_a_recorded_call_replays_the_same(run: Run, tmp_path: Path) -> None:
    """Recording shows what the command shows and keeps no key; replaying shows the same without a network (C16)."""
    recorded = record(run)
    again = record(run, "mock-tools")
    lines = run("stream", "-m", "deepseek/mock-text", "--json", "hello").out

    replayed, as_json = run("replay", "calls.json"), run("replay", "--json", "calls.json")

    tools = '→ add({"left":20,"right":22})  [call_add_1]\ninput: 44 · output: 17 · finish: tool-calls\n'
    assert (recorded, again.out, again.err) == (Done(0, TEXT, COUNTS), "", tools)
    assert replayed == Done(0, TEXT, COUNTS + tools)
    assert as_json.out.startswith(lines)
    kept = (tmp_path / "calls.json").read_text(encoding="utf-8")
    assert "canary" not in kept
    assert [exchange["wire"] for exchange in json.loads(kept)["exchanges"]] == ["openai-chat", "openai-chat"]


@pytest.mark.usefixtures("deepseek")
def test_a_recorded_failure_replays_as_one(run: Run) -> None:
    """A call that failed is recorded and replays to what had arrived and the same code; exit code 1."""
    recorded, replayed = record(run, "mock-text+cut"), run("replay", "calls.json")
    in_band = record(run, "mock-text+error-event")
    both = run("replay", "calls.json")

    assert (recorded.code, recorded.out, replayed.code, replayed.out) == (1, "Hello from\n", 1, "Hello from\n")
    assert replayed.err.startswith("limen: STREAM_CLOSED: ")
    assert (in_band.code, both.code, both.out) == (1, 1, "Hello from\nHello from\n")
    assert [line.split(": ")[1] for line in both.err.splitlines()] == ["STREAM_CLOSED", "SERVER"]


@pytest.mark.usefixtures("deepseek")
def test_further_fields_are_left_out(run: Run, tmp_path: Path) -> None:
    """`--redact FIELD` keeps a field's value out of the cassette."""
    record(run, "mock-text", "--redact", "content")

    assert "hello" not in (tmp_path / "calls.json").read_text(encoding="utf-8")


def test_record_with_a_configuration(run: Run, provider: MockProvider, tmp_path: Path) -> None:
    """What stands before `record` holds for the command that is recorded."""
    route = f'[routes.here]\nadapter = "openai-chat"\nbase_url = "{provider.base_url("openai-chat")}"\n'
    (tmp_path / "other.toml").write_text(route, encoding="utf-8")

    done = run("-c", "other.toml", "record", "--out", "kept", "--", "stream", "-m", "here/mock-text", "hello")

    assert done == Done(0, TEXT, COUNTS)
    assert [file.name for file in (tmp_path / "kept").iterdir()] == ["0001.json"]


@pytest.mark.usefixtures("deepseek")
def test_trace(run: Run, tmp_path: Path) -> None:
    """A recording and a live call are shown as timelines, or written as one page that needs nothing else."""
    record(run)
    recorded = run("trace", "calls.json")
    live = run("trace", "-m", "deepseek/mock-text", "hello")
    as_json = run("trace", "calls.json", "--json")
    page = run("trace", "calls.json", "--html", "page.html")
    failing = run("trace", "-m", "deepseek/mock-text+cut", "hello")

    assert (recorded.code, recorded.err, live.code, live.err) == (0, "", 0, "")
    assert "deepseek: mock-text" in recorded.out
    assert "│" in recorded.out
    assert "deepseek: mock-text" in live.out
    assert json.loads(as_json.out)["blocks"][0]["text"] == "Hello from the mock provider."
    assert page == Done(0, "", "")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    assert failing.code == 1
    assert failing.err.startswith("limen: STREAM_CLOSED: ")


def test_a_cassette_that_does_not_name_its_wire(run: Run, tmp_path: Path) -> None:
    """Exchanges without a wire need `--wire`."""
    exchange = {
        "limen": "0",
        "route": "r",
        "model": "m",
        "request": {"method": "POST", "path": "/chat/completions"},
        "response": {
            "status": 200,
            "atMs": 1,
            "headers": {},
            "reads": [{"atMs": 2, "data": 'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'}],
        },
        "endedMs": 3,
    }
    (tmp_path / "c.json").write_text(json.dumps({"schemaVersion": 2, "exchanges": [exchange]}), encoding="utf-8")

    assert run("replay", "c.json") == Done(
        2, "", "limen: INVALID_OPTIONS: c.json has a call of r that does not name its wire; give --wire\n"
    )
    assert run("replay", "c.json", "--wire", "openai-chat") == Done(0, "Hi\n", "finish: stop\n")
    assert run("trace", "c.json", "--wire", "openai-chat").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("record", "--out", "x.json"), "INVALID_OPTIONS: say what to record: limen record --out FILE -- stream"),
        (("record", "--out", "x.json", "--", "strem"), "INVALID_OPTIONS: No such command 'strem'"),
        (("replay", "none.json"), "INVALID_CONFIG: none.json"),
        (("replay", "bad.json"), "INVALID_CONFIG: bad.json cannot be read as a cassette"),
        (("trace", "none.json"), "INVALID_CONFIG: none.json"),
        (("trace", "-m", "r/m", "hi"), "NO_ADAPTER: "),
        (
            ("trace", "empty.json", "--html", "no/such/page.html"),
            "INVALID_OPTIONS: no/such/page.html cannot be written",
        ),
        (("check", "nothing", "--wire", "openai-chat"), "INVALID_OPTIONS: 'nothing' is not of the form module:name"),
        (("check", "no.such:thing", "--wire", "openai-chat"), "INVALID_OPTIONS: no.such:thing cannot be found"),
        (("check", "json:dumps", "--wire", "morse"), "INVALID_OPTIONS: "),
    ],
)
def test_wrong_usage(run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    """What cannot be recorded, read, written or judged is one line; exit code 2."""
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    (tmp_path / "empty.json").write_text('{"schemaVersion": 2, "exchanges": []}', encoding="utf-8")

    done = run(*arguments)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"limen: {message}")
    assert done.err.count("\n") == 1


ADAPTERS = f"""
import limen
from limen.adapters.deepseek import DeepSeekAdapter, DeepSeekOptions

def good(endpoint):
    return DeepSeekAdapter(DeepSeekOptions(base_url=endpoint.base_url, api_key=endpoint.api_key))

class Bad(limen.LlmAdapter):
    async def stream(self, options):
        raise limen.LlmError("nothing works; {KEY}", "UNKNOWN")
        yield

def bad(endpoint):
    return Bad()
"""


def test_check(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`limen check` prints the judge's table, writes its page, and exits 1 for an adapter that breaks a rule."""
    (tmp_path / "my_adapters_under_test.py").write_text(ADAPTERS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))

    good = run("check", "my_adapters_under_test:good", "--wire", "openai-chat", "--basics", "--report", "page.html")
    bad = run("check", "my_adapters_under_test:bad", "--wire", "openai-chat", "--basics")

    assert (good.code, good.err) == (0, ""), good.out
    assert "pass" in good.out
    assert (tmp_path / "page.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    assert bad.code == 1


def test_check_without_its_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without h11 the command says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "limen.testing.conformance", None)

    assert run("check", "a:b", "--wire", "openai-chat") == Done(
        2, "", "limen: INVALID_OPTIONS: the judge needs h11: pip install 'limen[mock]'\n"
    )
