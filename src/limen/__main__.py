"""The command `limen`, also as `python -m limen`; needs the extra `cli`."""

import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command and exit: 0 success, 1 a failure of the call, 2 wrong usage or configuration."""
    if any(find_spec(name) is None for name in ("typer", "rich")):
        print("limen: the command needs typer and rich: pip install 'limen[cli]'", file=sys.stderr)
        sys.exit(2)
    from limen.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
