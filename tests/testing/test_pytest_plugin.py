"""The pytest plugin: one test a rule, and the mock provider as a fixture."""

import http.client
from pathlib import Path

import pytest

from limen.testing.server import MockProvider

pytest_plugins = ["pytester"]

HERE = Path(__file__).resolve().parents[1]


def test_the_fixture_is_a_running_provider(mock_provider: MockProvider) -> None:
    """`mock_provider` answers, in a test without a loop."""
    host = mock_provider.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=5)
    connection.request("GET", "/v1/models")
    answer = connection.getresponse()
    answer.read()
    connection.close()

    assert answer.status == 200


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the tests that are run import this folder's adapters."""
    monkeypatch.setenv("PYTHONPATH", str(HERE))


def run(pytester: pytest.Pytester, source: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(source)
    return pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "-q", "-o", "asyncio_default_fixture_loop_scope=function", *arguments
    )


GOOD = """
import pytest
from testing._bent import good

@pytest.mark.limen_adapter(good, wire="openai-chat")
def test_contract(conformance_rule):
    conformance_rule()
"""


def test_one_test_a_rule(pytester: pytest.Pytester) -> None:
    """A rule can be chosen by its number, and passes for a good adapter."""
    result = run(pytester, GOOD, "-k", "C4 or W6", "--strict-markers")

    result.assert_outcomes(passed=2, deselected=len_rules() - 2)


def len_rules() -> int:
    from limen.testing.conformance import rules

    return len(rules())


def test_a_broken_rule_fails_with_the_stream(pytester: pytest.Pytester) -> None:
    """A failure shows the table and the exact stream."""
    source = GOOD.replace(
        "from testing._bent import good", "from testing._seeds import SEEDS; good = SEEDS['assembly']"
    )
    result = run(pytester, source, "-k", "C4")

    result.assert_outcomes(failed=1, deselected=len_rules() - 1)
    result.stdout.fnmatch_lines(["*C4 assembly: *C4: the end of block 0 differs*", '*{"type":"text-delta"*'])


def test_what_does_not_apply_is_skipped_with_why(pytester: pytest.Pytester) -> None:
    """A rule whose checks all do not apply is a skip that says why."""
    source = GOOD.replace('wire="openai-chat"', "wire=OTHER").replace(
        "\n@pytest",
        "\nimport msgspec\nfrom limen.testing.conformance import WIRES\n"
        "OTHER = msgspec.structs.replace(WIRES['openai-chat'], sse=False)\n@pytest",
    )
    result = run(pytester, source, "-k", "S1", "-rs")

    result.assert_outcomes(skipped=1, deselected=len_rules() - 1)
    result.stdout.fnmatch_lines(["*this wire is not framed as server-sent events*"])


def test_a_test_without_the_mark_is_told(pytester: pytest.Pytester) -> None:
    """The fixture without the mark is a usage error that names both."""
    result = run(pytester, "def test_contract(conformance_rule):\n    conformance_rule()\n")

    result.stdout.fnmatch_lines(["*uses conformance_rule and has no mark limen_adapter*"])
    assert result.ret != 0


def python(program: str) -> str:
    """What a program prints, in an interpreter of its own."""
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_plugin_needs_no_h11() -> None:
    """Where limen is installed without its extra, pytest still starts: the plugin loads neither server nor h11."""
    program = (
        "import sys; sys.modules['h11'] = None; import limen.testing.pytest_plugin; "
        "print([name for name in sys.modules if name in ('httptools', 'limen.testing.server')])"
    )

    assert python(program) == "[]"


def test_every_name_of_the_kit_is_there() -> None:
    """`limen.testing` gives each of its names when it is asked, and refuses others with the list."""
    import limen.testing

    assert all(getattr(limen.testing, name) for name in limen.testing.__all__)
    assert set(limen.testing.__all__) <= set(dir(limen.testing))
    with pytest.raises(AttributeError, match="MockProvider"):
        _ = limen.testing.nothing  # type: ignore[attr-defined] # the refusal is what is tested


def test_judging_a_list_of_chunks_needs_no_h11() -> None:
    """Without the extra, `limen.testing` and its judge of plain chunks work, and so do scripts and descriptions."""
    program = (
        "import sys; sys.modules['h11'] = None\n"
        "from limen import BlockEnd, BlockStart, Finish, FinishReason, TextBlock, TextDelta\n"
        "from limen.testing import FAULTS, SCENARIOS, check_stream\n"
        "from limen.testing.conformance import WIRES\n"
        "block = [BlockStart(0, 'text'), TextDelta(0, 'a'), BlockEnd(0, TextBlock('a'))]\n"
        "chunks = [*block, Finish(FinishReason('stop'))]\n"
        "print(check_stream(chunks).verdict, len(FAULTS) > 0, 'text' in SCENARIOS, sorted(WIRES))"
    )

    assert python(program) == "pass True True ['anthropic-messages', 'bedrock-converse', 'openai-chat']"


def test_a_server_without_h11_names_the_extra() -> None:
    """Starting a server without h11 says what to install, and so does the judge as a command."""
    program = (
        "import sys; sys.modules['h11'] = None\n"
        "from limen.testing import MockProvider\n"
        "from limen.testing.conformance import UsageError, run_check\n"
        "try:\n"
        "    with MockProvider(): pass\n"
        "except ModuleNotFoundError as missing: print(missing.name, '|', missing)\n"
        "try: run_check('builtins:print', wire='openai-chat')\n"
        "except UsageError as missing: print(missing)"
    )
    sentence = "the mock provider needs h11: pip install 'limen[mock]'"

    assert python(program) == f"h11 | {sentence}\n{sentence}"
