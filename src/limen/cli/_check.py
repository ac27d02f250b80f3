"""`limen check`: conformance checks of any adapter."""

import click

from limen import _compose
from limen.cli._options import command
from limen.cli._report import UsageProblem


@command("check", example="limen check my_adapter:make --wire openai-chat --basics")
@click.argument("target", metavar="MODULE:FACTORY")
@click.option("--wire", required=True, metavar="WIRE", help="The wire's name, or module:description of your own.")
@click.option("--report", metavar="FILE", help="Write the same as one HTML page.")
@click.option("--basics", is_flag=True, help="Only what a new adapter must pass first.")
def check(*, target: str, wire: str, report: str | None, basics: bool) -> int:
    """Judge an adapter, rule by rule.

    Tries every promise of the contract against a provider on this machine; exits 1 if one is broken. The factory takes
    an endpoint and returns an adapter.
    """
    try:
        from limen.testing.conformance import UsageError, run_check
    except ImportError:
        raise UsageProblem("the judge needs h11: pip install 'limen[mock]'") from None
    problem: str
    try:
        return run_check(target, wire=_described(wire), report=report, basics=basics, write=click.echo)
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
