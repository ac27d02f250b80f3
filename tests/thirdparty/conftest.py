"""The sample distribution as an installer would leave it: its package on the path, its metadata for these tests alone.

Every other test sees limen without it, so the lists of wires and adapters there hold limen's own.
"""

import sys
from pathlib import Path

import pytest

ACME = Path(__file__).parent / "acme-limen"
SOURCE, METADATA = str(ACME / "src"), str(ACME / "metadata")
if SOURCE not in sys.path:
    sys.path.append(SOURCE)


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the entry point be found."""
    monkeypatch.syspath_prepend(METADATA)
