"""The judge itself: what it reports, as values, as text, as a page, as a command, and for a single stream."""

import asyncio
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from limen.contract import (
    STOP,
    BlockEnd,
    BlockStart,
    Finish,
    FinishReason,
    LlmAdapter,
    StreamChunk,
    TextBlock,
    TextDelta,
)
from limen.testing.conformance import (
    API_KEY,
    CHECKS,
    WIRES,
    Broken,
    Endpoint,
    Outcome,
    Report,
    Result,
    UsageError,
    check_adapter,
    check_stream,
    page,
    rules,
    run_check,
    table,
    wire_named,
)
from testing._bent import bent, good, only
from testing._seeds import SEEDS

# The judge must stand what types forbid.
HOSTILE: Any = object()
WHOLE: list[StreamChunk] = [
    BlockStart(0, "text"),
    TextDelta(0, "a"),
    BlockEnd(0, TextBlock("a")),
    Finish(STOP),
]


def test_a_good_stream_passes() -> None:
    """A stream from anywhere is judged by the chunk grammar alone."""
    assert check_stream(WHOLE).verdict == "pass"


@pytest.mark.parametrize(
    ("chunks", "rule"),
    [
        ([], "C6"),
        (WHOLE[:-1], "C6"),
        ([*WHOLE, Finish(STOP)], "C6"),
        ([BlockStart(1, "text")], "C2"),
        ([*WHOLE[:2], Finish(STOP)], "C7"),
        ([*WHOLE[:2], BlockEnd(0, TextBlock("b")), Finish(STOP)], "C4"),
        ([BlockStart(0, "text"), TextDelta(0, "")], "C13"),
        ([Finish(FinishReason("tool-calls"))], "C11"),
    ],
)
def test_a_broken_stream_fails_under_its_rule(chunks: list[StreamChunk], rule: str) -> None:
    """A failure names the rule and shows the stream."""
    result = check_stream(chunks)

    assert (result.verdict, result.rule, len(result.stream)) == ("fail", rule, len(chunks))


def test_what_is_no_chunk_is_shown_too() -> None:
    """A hostile object in a stream is a failure with its repr, not a crash."""
    result = check_stream([HOSTILE, *WHOLE])

    assert (result.verdict, result.rule) == ("fail", "C1")
    assert result.stream[0].startswith("<object object")


def test_basics_are_few_and_named() -> None:
    """The first thing that a new adapter must pass: the nine promises of a first afternoon."""
    basics = sorted(check.name for check in CHECKS.values() if check.basic)

    assert basics == [
        "abort",
        "every-field",
        "no-stream",
        "registration",
        "split-call",
        "state-validated",
        "status-raised",
        "text-reply",
        "trailing-usage",
    ]


def test_rules_are_in_order() -> None:
    """Rules sort by letter and then as numbers."""
    assert [rule for rule in rules() if rule[0] == "C"] == [f"C{number}" for number in (*range(1, 14), 15, 16, 17, 18)]


async def test_names_and_rules_choose_checks() -> None:
    """A report holds only what was asked for."""
    one = await check_adapter(good, "openai-chat", names=["text-reply"])
    rule = await check_adapter(good, WIRES["openai-chat"], rules=["W6"])

    assert [result.name for result in one.results] == ["text-reply"]
    assert {result.rule for result in rule.results} == {"W6"}
    assert one.rule("C1") == list(one.results)
    assert one.passed


async def test_a_factory_that_fails_fails_the_checks() -> None:
    """What a factory raises is a finding with its traceback, and the judge goes on."""

    def broken(endpoint: Endpoint) -> LlmAdapter:
        raise ValueError(f"cannot use {endpoint.api_key}")

    report = await check_adapter(broken, "openai-chat", basics=True)

    assert {result.verdict for result in report.results} == {"fail"}
    assert all("ValueError" in result.detail and API_KEY not in result.detail for result in report.results)
    assert "Traceback" in report.results[0].stream[0]


async def test_an_adapter_that_yields_nonsense_is_a_finding() -> None:
    """Chunks of a foreign type break C1, and the report can show them."""
    nonsense = bent(each=only(TextDelta, lambda _: (HOSTILE,)))
    report = await check_adapter(nonsense, "openai-chat", names=["block-shape"])

    (failure,) = report.failures
    assert "is not a chunk" in failure.detail
    assert any(line.startswith("<object object") for line in failure.stream)


def test_an_unknown_wire_is_named() -> None:
    """A wire that the kit does not describe is a ValueError that says which it does."""
    with pytest.raises(ValueError, match=f"{', '.join(WIRES)}, not 'telegraph'"):
        wire_named("telegraph")


def test_an_outcome_in_words() -> None:
    """An outcome says how it ended, whatever it was."""
    finish = Finish(STOP)
    words = [
        Outcome("a", (finish,), None, ()).ending(),
        Outcome("a", (), None, ()).ending(),
        Outcome("a", (), OSError("gone"), ()).ending(),
    ]

    assert words == ["with a finish 'stop'", "without a finish", "with a foreign OSError: gone"]
    assert Outcome("a", (), OSError("gone"), ()).lines() == ["raised OSError: gone"]
    with pytest.raises(Broken, match="made 0 requests"):
        _ = Outcome("a", (), None, ()).request


REPORT = Report(
    "my adapter",
    "openai-chat",
    (
        Result("R10", "late", "Comes last", False, "pass"),
        Result("C1", "text-reply", "A reply", True, "pass"),
        Result("C2", "indexes", "Indexes <count>", False, "fail", "text: C2: a & b", ["{", *["x"] * 70]),
        Result("S1", "sse-forms", "Forms", False, "n/a", "no <SSE>"),
    ),
)


def test_the_table() -> None:
    """Basics first, then rules in order; each failure with its stream, the middle of a long one left out."""
    text = table(REPORT)
    lines = text.split("\n")

    assert lines[:6] == [
        "the basics",
        "  C1   pass  A reply",
        "all rules",
        "  C2   fail  Indexes <count>",
        "  R10  pass  Comes last",
        "  S1   n/a   Forms (no <SSE>)",
    ]
    assert lines[7:9] == ["C2 indexes: text: C2: a & b", "    {"]
    assert "    … 11 more …" in lines
    assert lines[-1] == "my adapter on openai-chat: 2 passed, 1 failed, 1 not applicable"


class Tags(HTMLParser):
    """Which tags are open, and every reference to something outside the page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []
        self.rows = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.outside += [str(value) for name, value in attrs if name in ("src", "href")]
        self.rows += tag == "tr"
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page() -> None:
    """The page is well formed, needs nothing else, and escapes what adapters say."""
    text = page(REPORT)
    tags = Tags()
    tags.feed(text)

    assert (tags.open, tags.outside, tags.rows) == ([], [], 6)
    assert "Indexes &lt;count&gt;" in text
    assert "a &amp; b" in text
    assert "no &lt;SSE&gt;" in text


def test_the_page_of_basics_alone() -> None:
    """A group without results has no heading."""
    basics = Report("a", "w", (REPORT.results[1],))

    assert "All rules" not in page(basics)
    assert "all rules" not in table(basics)


def test_the_command_passes_a_good_adapter(tmp_path: Path) -> None:
    """`limen check` prints the table, writes the page, and returns 0."""
    lines: list[str] = []
    report = tmp_path / "out.html"
    code = run_check("testing._bent:good", wire="openai-chat", report=str(report), basics=True, write=lines.append)

    assert code == 0
    assert lines[0].endswith("testing._bent:good on openai-chat: 9 passed, 0 failed, 0 not applicable")
    assert "<title>Conformance: testing._bent:good on openai-chat</title>" in report.read_text(encoding="utf-8")


def test_the_command_fails_a_bad_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken promise is exit code 1, and the exact stream is in the table."""
    monkeypatch.setattr("testing._seeds.bad", SEEDS["text-reply"], raising=False)
    lines: list[str] = []
    code = run_check("testing._seeds:bad", wire="openai-chat", basics=True, write=lines.append)

    assert code == 1
    assert '    {"type":"text-delta","index":0,"text":"Hello"}' in lines[0]


def test_the_command_takes_a_wire_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wire may be named as module:description."""
    monkeypatch.setattr("testing._bent.WIRE", WIRES["openai-chat"], raising=False)

    assert run_check("testing._bent:good", wire="testing._bent:WIRE", basics=True, write=lambda _: None) == 0


@pytest.mark.parametrize(
    ("target", "wire", "words"),
    [
        ("testing._bent", "openai-chat", "module:name"),
        ("no_such_module:x", "openai-chat", "cannot be found"),
        ("testing._bent:nothing", "openai-chat", "cannot be found"),
        ("testing._raw_client:CHAT", "openai-chat", "no function"),
        ("testing._bent:good", "telegraph", "not 'telegraph'"),
        ("testing._bent:good", "testing._bent:good", "no limen.testing.conformance.WireDescription"),
    ],
)
def test_wrong_use_of_the_command(target: str, wire: str, words: str) -> None:
    """What cannot be found or used is a UsageError that says so, before anything is judged."""
    with pytest.raises(UsageError, match=words):
        run_check(target, wire=wire)


def test_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    """A path that cannot be written is a UsageError."""
    with pytest.raises(UsageError, match="cannot be written"):
        run_check(
            "testing._bent:good",
            wire="openai-chat",
            report=str(tmp_path / "missing" / "out.html"),
            basics=True,
            write=lambda _: None,
        )


def test_a_factory_that_makes_something_else() -> None:
    """A factory that returns no adapter, or raises, is wrong usage in one sentence, before anything is judged (J7)."""
    with pytest.raises(UsageError, match=r"makes no adapter for an endpoint: TypeError: .* a dict, which is no LlmAda"):
        run_check("testing._raw_client:chat_body", wire="openai-chat", basics=True)
    with pytest.raises(UsageError, match="makes no adapter for an endpoint: TypeError: Object of type Endpoint"):
        run_check("json:dumps", wire="openai-chat")


def test_the_kit_imports_no_pytest_and_no_adapter() -> None:
    """The judge and the provider can be used where pytest is not installed, and know no adapter."""
    program = (
        "import sys; import limen.testing.conformance, limen.testing.server; "
        "print(sorted(name for name in sys.modules if name.split('.')[0] in ('pytest', 'httptools') "
        "or name.startswith(('limen.adapters', 'limen._compose', 'limen.transport'))))"
    )

    async def run() -> bytes:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
        out, _ = await process.communicate()
        return out

    assert asyncio.run(run()).strip() == b"[]"
