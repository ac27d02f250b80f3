"""`limen check`: conformance checks of any adapter."""

from typing import Annotated

import typer

from limen import _compose
from limen.cli._report import UsageProblem


def check(
    target: Annotated[str, typer.Argument(help="module:factory, which takes an endpoint and returns an adapter.")],
    *,
    wire: Annotated[str, typer.Option(help="The wire's name, or module:description for a wire of your own.")],
    report: Annotated[str | None, typer.Option(help="Write the same as one HTML page.")] = None,
    basics: Annotated[bool, typer.Option("--basics", help="Only what a new adapter must pass first.")] = False,
) -> None:
    """Judge an adapter, rule by rule.

    Tries every promise of the contract against a provider on this machine; exits 1 if one is broken.
    """
    try:
        from limen.testing.conformance import UsageError, run_check
    except ImportError:
        raise UsageProblem("the judge needs h11: pip install 'limen[mock]'") from None
    problem: str
    try:
        raise typer.Exit(run_check(target, wire=_described(wire), report=report, basics=basics, write=typer.echo))
    except UsageError as wrong:
        problem = str(wrong)
    raise UsageProblem(problem)


def _described(wire: str) -> str:
    """Return where the description of a wire is, as `module:attribute`; a name that no adapter describes as it is."""
    if ":" in wire:
        return wire
    known = _compose.descriptions()
    if wire not in known and wire not in _compose.wire_names():
        raise UsageProblem(
            f"there is no wire {wire!r} with a description; there are {', '.join(known)}; for a wire of your own give "
            "module:description"
        )
    return known.get(wire, wire)
