"""The command `limen`, also as `python -m limen`; needs the extra `cli`."""

import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command and exit: 0 success, 1 a failure of the call, 2 wrong usage or configuration."""
    if find_spec("click") is None:
        print("limen: the command needs click: pip install 'limen[cli]'", file=sys.stderr)
        sys.exit(2)
    try:
        from limen.cli import run
    except KeyboardInterrupt:
        # Ctrl-C before the command has begun: nothing was asked of anybody.
        print("limen: ABORTED: interrupted", file=sys.stderr)
        sys.exit(130)

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
