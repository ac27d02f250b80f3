"""Choice of the script that answers a request: by its path, its model's name, or what the server was given."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from limen.testing.scripts import Script
from limen.testing.server._faults import fault_named
from limen.testing.server._recorded import RecordedRequest
from limen.testing.server._scenarios import SCENARIOS

OneScript: TypeAlias = Script | str
Source: TypeAlias = OneScript | Sequence[OneScript] | Callable[[RecordedRequest], OneScript]
"""A script, a specification such as `text+cut`, a list of either to answer one request each, or a function."""

MODEL_PREFIX = "mock-"
PATH_PREFIX = "/s/"


class UnknownScenario(ValueError):
    """Specification with an unknown scenario or fault."""


def script_of(given: OneScript) -> Script:
    """Read `scenario+fault+fault`; raises `UnknownScenario`."""
    if isinstance(given, Script):
        return given
    name, *faults = given.split("+")
    script = SCENARIOS.get(name)
    if script is None:
        raise UnknownScenario(f"there is no scenario {name!r}; there are {', '.join(sorted(SCENARIOS))}")
    try:
        for fault in faults:
            fault_named(fault)
    except ValueError as problem:
        raise UnknownScenario(str(problem)) from None
    return script.with_faults(*faults)


class Choice:
    """Chooses the script of each request.

    A path that begins with `/s/<specification>` decides; then a model named `mock-<specification>`; then what the
    server was given. A list answers one request with each entry, and all further ones with the last.
    """

    def __init__(self, source: Source | None, faults: Sequence[str]) -> None:
        for fault in faults:
            fault_named(fault)
        self._faults = tuple(faults)
        self._given: Callable[[RecordedRequest], OneScript] | None = None
        self._queue: list[Script] = []
        if source is None:
            return
        if isinstance(source, (Script, str)):
            self._queue = [script_of(source)]
        elif callable(source):
            self._given = source
        else:
            self._queue = [script_of(one) for one in source]

    def script(self, request: RecordedRequest, model: str) -> Script:
        """Return the script of one request; raises `UnknownScenario` for a model of that form that names none."""
        return self._script(request, model).with_faults(*self._faults)

    def _script(self, request: RecordedRequest, model: str) -> Script:
        if request.path.startswith(PATH_PREFIX):
            return script_of(request.path.removeprefix(PATH_PREFIX).partition("/")[0])
        if model.startswith(MODEL_PREFIX):
            try:
                return script_of(model.removeprefix(MODEL_PREFIX))
            except UnknownScenario:
                if self._given is None and not self._queue:
                    raise
        if self._given is not None:
            return script_of(self._given(request))
        if not self._queue:
            return SCENARIOS["text"]
        return self._queue.pop(0) if len(self._queue) > 1 else self._queue[0]


def model_names(scenarios: Mapping[str, Script] = SCENARIOS) -> list[str]:
    """Return the names under which a client may ask for the built-in scripts."""
    return [MODEL_PREFIX + name for name in scenarios]
