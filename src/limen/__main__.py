"""The command `limen`, also as `python -m limen`; needs the extra `cli`."""

import sys


def main() -> None:
    """Run the command and exit: 0 success, 1 a failure of the call, 2 wrong usage or configuration."""
    try:
        import rich  # noqa: F401 - only whether it is there
        import typer  # noqa: F401 - only whether it is there
    except ImportError:
        print("limen: the command needs typer and rich: pip install 'limen[cli]'", file=sys.stderr)
        sys.exit(2)
    from limen.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
