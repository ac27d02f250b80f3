"""Shows the table of recorded answers by wire at the end of a run, where there were any."""

import pytest

from recording._corpus import TABLE


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one row for each wire that was compared with the manifest."""
    if TABLE:
        terminalreporter.section("recorded answers")
        terminalreporter.write_line(
            f"{'wire':<22}{'answers':>8}{'errors':>8}{'exceptions':>12}{'reads':>10}{'bytes':>14}"
        )
        for wire, counts in sorted(TABLE.items()):
            terminalreporter.write_line(
                f"{wire:<22}{counts['answers']:>8}{counts['errors']:>8}{counts['exceptions']:>12}"
                f"{counts['reads']:>10,}{counts['bytes']:>14,}"
            )
