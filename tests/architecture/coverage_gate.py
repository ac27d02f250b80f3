"""The coverage gate: 100 % of lines and branches, per file, where the boundary is; 95 % per file elsewhere.

`python coverage_gate.py coverage-report.json` prints each file that falls short and exits 1 if there is one.
"""

import json
import sys
from pathlib import Path

FULL = ("contract/", "runtime/", "fixture/", "transport/framing/")
FULL_FILES = ("_serialize.py", "_parse.py", "_translate.py")


def required(path: str) -> float:
    """The percentage that a file must reach."""
    inside = path.replace("\\", "/").partition("src/limen/")[2]
    return 100.0 if inside.startswith(FULL) or inside.endswith(FULL_FILES) else 95.0


def shortfalls(report: dict[str, dict[str, dict[str, dict[str, float]]]]) -> list[str]:
    """A line for each file under its requirement."""
    lines: list[str] = []
    for path, entry in sorted(report["files"].items()):
        reached = entry["summary"]["percent_covered"]
        if reached < required(path):
            lines.append(f"{path}: {reached:.1f} % of lines and branches, {required(path):.0f} % required")
    return lines


def main(path: str) -> int:
    """Print what falls short; return the exit code."""
    found = shortfalls(json.loads(Path(path).read_text(encoding="utf-8")))
    print("\n".join(found) or "coverage: every file reaches its requirement")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
