"""Matching of requests with recorded ones: the nearest, and the differences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeGuard

from limen.contract import dumps

SHOWN: int = 5


class Difference(NamedTuple):
    """Place where two requests differ; `None` means that one request lacks the place."""

    path: str
    recorded: str | None
    asked: str | None

    def __str__(self) -> str:
        recorded = "nothing" if self.recorded is None else self.recorded
        asked = "nothing" if self.asked is None else self.asked
        return f"{self.path}: recorded {recorded}, asked {asked}"


def differences(recorded: object, asked: object, path: str = "body") -> Iterator[Difference]:
    """Yield each place where two JSON values differ, in the order of the recorded one."""
    if _is_object(recorded) and _is_object(asked):
        for name in dict.fromkeys((*recorded, *asked)):
            inner = f"{path}.{name}"
            if name not in asked:
                yield Difference(inner, _words(recorded[name]), None)
            elif name not in recorded:
                yield Difference(inner, None, _words(asked[name]))
            else:
                yield from differences(recorded[name], asked[name], inner)
    elif _is_array(recorded) and _is_array(asked):
        for index in range(max(len(recorded), len(asked))):
            inner = f"{path}[{index}]"
            if index >= len(asked):
                yield Difference(inner, _words(recorded[index]), None)
            elif index >= len(recorded):
                yield Difference(inner, None, _words(asked[index]))
            else:
                yield from differences(recorded[index], asked[index], inner)
    elif dumps(recorded) != dumps(asked):
        yield Difference(path, _words(recorded), _words(asked))


def _words(value: object) -> str:
    words = dumps(value).decode()
    return words if len(words) <= 80 else f"{words[:77]}…"


def _is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping)


def _is_array(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, (list, tuple))
