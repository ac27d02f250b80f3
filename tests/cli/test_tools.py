"""`limen stream --tools`: model and tools in turns, the answer on stdout, calls and results on stderr."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import limen
from cli._command import KEY, Done, Run
from limen.cli import _converse
from limen.cli._show import Readable
from limen.testing.server import MockProvider
from limen.tools import ToolRegistry, tool
from tools._scripted import Turn, ask, call, scripted

MODULE = '''
from limen.tools import NonRecoverableToolError, ToolRegistry, tool


def add(left: int, right: int) -> int:
    """Add two integers."""
    return left + right


@tool(name="add")
async def stopping(left: int, right: int) -> int:
    """Stop."""
    raise NonRecoverableToolError("enough\\nof this")


def nameless(left):
    return left


everything = [add]
registry = ToolRegistry([tool(add)])
'''
CALL = '→ add({"left":20,"right":22})\n'
USAGE = "input: 102 · output: 23 · finish: stop\n"


@pytest.fixture
def tools(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module of tools in the folder where the command runs, and a provider that calls one of them."""
    (tmp_path / "my_tools.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "broken.py").write_text("raise SystemError('no disk')", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [name for name in sys.path if name not in ("", ".")])
    with MockProvider("tools") as provider:
        monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
        monkeypatch.setenv("DEEPSEEK_BASE_URL", provider.base_url("openai-chat"))
        yield
    sys.modules.pop("my_tools", None)


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("name", ["add", "everything", "registry"])
def test_the_answer_is_all_of_stdout(run: Run, name: str) -> None:
    """A function, a list or a registry: only the answer is on stdout, calls, results and counts are on stderr."""
    done = run("stream", "-m", "deepseek/m", "--tools", f"my_tools:{name}", "What is 20 + 22?")

    assert done == Done(0, "The sum is 42.\n", f"{CALL}← 42\n{USAGE}")


@pytest.mark.usefixtures("tools")
def test_an_answer_that_is_cut_is_told(run: Run, deepseek: MockProvider) -> None:
    """A conversation whose last answer was cut at its limit of tokens succeeds, and says so, as without tools."""
    deepseek.use("max-tokens")

    done = run("stream", "-m", "deepseek/m", "--tools", "my_tools:add", "hi")

    assert (done.code, done.out) == (0, "This answer is cut\n")
    assert done.err.endswith("limen: the answer was cut at its limit of tokens; --max-tokens sets it\n")


@pytest.mark.usefixtures("tools")
def test_json_has_results_too(run: Run) -> None:
    """With `--json` every chunk and every result is a line of stdout, and stderr is empty."""
    done = run("stream", "-m", "deepseek/m", "--json", "--tools", "my_tools:add", "What is 20 + 22?")

    lines = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert '{"type":"tool-result","toolCallId":"call_add_1","content":"42"}' in lines
    assert [limen.decode_chunk(line.encode()) for line in lines if "tool-result" not in line]


@pytest.mark.usefixtures("tools")
def test_a_tool_stops_the_run(run: Run) -> None:
    """A tool that stops the run ends the command with one line."""
    done = run("stream", "-m", "deepseek/m", "--tools", "my_tools:stopping", "What is 20 + 22?")

    assert done == Done(1, "", f"{CALL}limen: TOOL_EXECUTION_FAILED: a tool stopped the run: enough of this\n")


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(
    ("targets", "words"),
    [
        (["my_tools"], "--tools is given as module:name, such as my_tools:add; got 'my_tools'"),
        (["nowhere:add"], "--tools nowhere:add: ModuleNotFoundError: No module named 'nowhere'"),
        (["my_tools:more"], "--tools my_tools:more: AttributeError: module 'my_tools' has no attribute 'more'"),
        (["broken:add"], "--tools broken:add: SystemError: no disk"),
        (["my_tools:__name__"], "--tools my_tools:__name__: a str is neither tool nor function"),
        (["my_tools:nameless"], "--tools my_tools:nameless: nameless: the parameter left has no annotation"),
        (["my_tools:add", "my_tools:stopping"], "--tools my_tools:stopping: two tools have the name 'add'"),
    ],
)
def test_what_is_no_tool_is_a_line(run: Run, targets: list[str], words: str) -> None:
    """What is not found or cannot be a tool is named before anything is asked of a provider; exit code 2."""
    named = [word for target in targets for word in ("--tools", target)]

    assert run("stream", "-m", "deepseek/m", *named, "hi") == Done(2, "", f"limen: INVALID_OPTIONS: {words}\n")


@tool
def picture() -> list[object]:
    """Answer with blocks that hold what moves a cursor."""
    return [limen.TextBlock("a\x1b[2Jb\u202e"), limen.ImageBlock("image/png", b"p"), limen.TextBlock("c" * 600)]


async def shown(*turns: Turn, aborted: bool = False, capsys: pytest.CaptureFixture[str]) -> Done:
    """Show a scripted conversation with that tool."""
    llm, _ = scripted(*turns)
    controller = limen.AbortController()
    if aborted:
        controller.abort()
    options = ask(signal=controller.signal)
    code, _ = await _converse.show_conversation(llm, options, ToolRegistry([picture]), Readable())
    out, err = capsys.readouterr()
    return Done(code, out, err)


async def test_results_are_cut_and_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    """What a tool answers is one bounded line without what moves a cursor or reorders it; images are named."""
    done = await shown([call("picture")], "seen", capsys=capsys)

    result = f"← a\\x1b[2Jb\\u202e [image] {'c' * 600}"[:500]
    assert done == Done(0, "seen\n", f"→ picture({{}})\n{result}…\ninput: 20 · output: 6 · finish: stop\n")


async def test_the_ends_that_are_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """A failure, an abort and too many turns are each one line with an exit code of its own."""
    failed = await shown(limen.Failure("no", "SERVER"), capsys=capsys)
    aborted = await shown("never", aborted=True, capsys=capsys)
    endless = await shown(*[[call("nothing")]] * 16, capsys=capsys)

    assert failed == Done(1, "partly\n", "limen: SERVER: no\n")
    assert aborted == Done(130, "", "limen: ABORTED: interrupted; what had arrived is above\n")
    assert (endless.code, endless.out) == (1, "")
    assert endless.err.startswith('→ nothing({})\n✗ {"error":{"code":"TOOL_NOT_FOUND",')
    assert endless.err.endswith("the model still calls tools after 16 turns; what it said is above\n")
