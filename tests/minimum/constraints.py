"""Constraints for pip that pin every dependency to the least version that pyproject.toml states.

`python constraints.py pyproject.toml` prints one `name==version` a line, for the dependencies and each extra but `dev`.
Standard library only: it runs before anything is installed. A dependency without a least version is a `ValueError`.
"""

import re
import sys
import tomllib
from pathlib import Path

# `msgspec>=0.20`, `coverage[toml]>=7.10`, `name >= 1.2, < 3 ; python_version < "3.12"`.
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?(?P<bounds>[^;]*)(?P<marker>;.*)?")
_LEAST = re.compile(r">=\s*([0-9][^\s,]*)")


def constraint(requirement: str) -> str:
    """The requirement with its least version in place of its bounds; its marker stays."""
    match = _REQUIREMENT.fullmatch(requirement.strip())
    least = match and _LEAST.search(match["bounds"])
    if not match or not least:
        raise ValueError(f"no least version in {requirement!r}")
    return f"{match['name']}=={least[1]}{match['marker'] or ''}"


def constraints(pyproject: str) -> list[str]:
    """The constraints of a pyproject.toml's text, sorted, without repetition."""
    project = tomllib.loads(pyproject)["project"]
    extras = [
        each for name, group in project.get("optional-dependencies", {}).items() if name != "dev" for each in group
    ]
    own = re.compile(rf"{re.escape(project['name'])}\s*\[")
    wanted = [each for each in [*project.get("dependencies", []), *extras] if not own.match(each)]
    return sorted({constraint(each) for each in wanted})


if __name__ == "__main__":
    print("\n".join(constraints(Path(sys.argv[1]).read_text(encoding="utf-8"))))
