"""The tests of this folder on uvloop, in a process of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("uvloop", reason="uvloop is not installed (it does not exist for Windows)")
HERE = Path(__file__).parent


def run_on_uvloop(*files: str) -> None:
    """Run test files with uvloop as the event loop."""
    env = {**os.environ, "LIMEN_TEST_LOOP": "uvloop"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(str(HERE / file) for file in files)]
    done = subprocess.run(command, cwd=HERE.parents[1], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]


def test_connections_on_uvloop() -> None:
    """Requests, reuse and leaving hold on uvloop as on asyncio's own loop."""
    run_on_uvloop("test_http_open.py", "test_http_leaving.py", "test_connection_reuse.py")


@pytest.mark.slow
def test_the_rest_on_uvloop() -> None:
    """So does everything else of this folder that opens a socket."""
    ran = {"test_http_open.py", "test_http_leaving.py", "test_connection_reuse.py", "test_uvloop.py", "test_sse.py"}
    run_on_uvloop(*sorted(path.name for path in HERE.glob("test_*.py") if path.name not in ran))
