"""`limen batch`: rows of a file through the command (B1, B4)."""

import json
import signal
import subprocess
from importlib.util import find_spec
from pathlib import Path

from cli._command import Run, command, environment
from limen.testing.server import MockProvider


def rows(folder: Path, count: int) -> None:
    """Write rows into `in.jsonl`."""
    message = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
    lines = (json.dumps({"id": str(number), "options": {"messages": [message]}}) for number in range(count))
    (folder / "in.jsonl").write_text("".join(f"{line}\n" for line in lines))


def test_a_batch(run: Run, deepseek: MockProvider, tmp_path: Path) -> None:
    """Every row has one result, failed rows do not change the exit code, and the last line says how many are done."""
    rows(tmp_path, 3)
    with (tmp_path / "in.jsonl").open("a") as more:
        more.write("no JSON\n")
    limits = ("--concurrency", "2", "--requests-per-minute", "60000", "--tokens-per-minute", "1e9", "--ordered")
    done = run("batch", "in.jsonl", "--out", "out.jsonl", "-m", "deepseek/x", *limits)
    assert (done.code, done.out) == (0, "")
    assert done.err == "limen: 4 of 4 rows are done, 1 failed, in 0 s: out.jsonl\n"
    assert [json.loads(line)["line"] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == [1, 2, 3, 4]
    again = run("batch", "in.jsonl", "--out", "out.jsonl", "-m", "deepseek/x")
    assert (again.code, len(deepseek.requests)) == (0, 3)


def test_rows_of_their_own_models(run: Run, deepseek: MockProvider, tmp_path: Path) -> None:
    """Without -m each row's own model is asked; one without is a failed row."""
    rows(tmp_path, 1)
    done = run("batch", "in.jsonl", "--out", "out.jsonl")
    assert done.err == "limen: 1 of 1 rows are done, 1 failed, in 0 s: out.jsonl\n"
    assert (done.code, deepseek.requests) == (0, [])


def test_wrong_usage(run: Run, deepseek: MockProvider, tmp_path: Path) -> None:
    """A missing file, an unknown route and a text that is no model are wrong usage: exit code 2, nothing asked."""
    rows(tmp_path, 1)
    for arguments, words in (
        (("none.jsonl", "-m", "deepseek/x"), "none.jsonl: there is no such file"),
        (("in.jsonl", "-m", "other/x"), "there is no route 'other'"),
        (("in.jsonl", "-m", "x"), "a model is written 'ROUTE/MODEL'"),
        (("in.jsonl", "--concurrency", "0"), "--concurrency"),
    ):
        done = run("batch", *arguments, "--out", "out.jsonl")
        assert (done.code, words in done.err) == (2, True), done
    assert deepseek.requests == []


def test_the_engine_ray(run: Run, tmp_path: Path) -> None:
    """Options of the engine ray are refused without it, and without the library it says what to install."""
    rows(tmp_path, 1)
    wrong = run("batch", "in.jsonl", "--out", "out.jsonl", "--workers", "2")
    assert (wrong.code, wrong.err) == (2, "limen: INVALID_OPTIONS: --workers and --address are of --engine ray\n")
    if find_spec("ray") is None:
        missing = run("batch", "in.jsonl", "--out", "out.jsonl", "--engine", "ray")
        words = "limen: INVALID_OPTIONS: this engine needs Ray: pip install 'limen[ray]'\n"
        assert (missing.code, missing.err) == (2, words)


def test_ctrl_c(provider: MockProvider, tmp_path: Path) -> None:
    """Ctrl-C lets what is in flight finish, says how many rows are done, and exits 130; the same command goes on."""
    rows(tmp_path, 400)
    keys = {"DEEPSEEK_API_KEY": "k", "DEEPSEEK_BASE_URL": provider.base_url("openai-chat")}
    line = command("batch", "in.jsonl", "--out", "out.jsonl", "-m", "deepseek/x", "--concurrency", "2")
    with subprocess.Popen(
        line, cwd=tmp_path, env=environment(tmp_path, keys), stderr=subprocess.PIPE, text=True
    ) as process:
        provider.request_blocking(5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    done = len((tmp_path / "out.jsonl").read_bytes().splitlines())
    assert process.returncode == 130, said
    assert said.startswith(f"limen: {done} of 400 rows are done, 0 failed, in ")
    assert said.endswith(f"; {400 - done} are left: the same command goes on\n")
    assert done == len(provider.requests) < 400
