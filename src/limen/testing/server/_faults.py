"""Table of all faults by name; several of them applied to one answer."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from limen.testing.scripts import Answer
from limen.testing.server._fault import Fault, FaultContext
from limen.testing.server._faults_bytes import BYTE_FAULTS
from limen.testing.server._faults_events import EVENT_FAULTS
from limen.testing.server._faults_status import STATUS_FAULTS

FAULTS: Final[Mapping[str, Fault]] = MappingProxyType({**EVENT_FAULTS, **STATUS_FAULTS, **BYTE_FAULTS})
_STAGES: Final = ("events", "connection", "bytes")
_ORDER: Final = {name: place for place, name in enumerate(FAULTS)}


def apply_faults(answer: Answer, names: Iterable[str], context: FaultContext) -> Answer:
    """Apply the faults of these names, by stage and then in the order of the table."""
    chosen = sorted(
        {fault_named(name) for name in names}, key=lambda fault: (_STAGES.index(fault.stage), _ORDER[fault.name])
    )
    for fault in chosen:
        answer = fault.edit(answer, context)
    return answer


def fault_named(name: str) -> Fault:
    """Return the fault of that name; an unknown one is a `ValueError` that lists the known ones."""
    fault = FAULTS.get(name)
    if fault is None:
        raise ValueError(f"there is no fault {name!r}; there are {', '.join(sorted(FAULTS))}")
    return fault
