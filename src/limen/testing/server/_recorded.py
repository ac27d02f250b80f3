"""Record of a request that the mock provider received, and of its answer's progress."""

from collections.abc import Mapping, Sequence

import msgspec

from limen.testing.scripts import field_of, items_of
from limen.testing.server._threadsafe_event import ThreadsafeEvent


class RecordedRequest:
    """Method, path, headers and body; and five events, each awaitable from any loop or thread, each with its time.

    `arrived` has happened; `stalled` happens when the server has written all that comes before a silence, `finished`
    when it has written the whole answer, `closed` when the client's end of the connection is gone. `release()` ends a
    silence.
    """

    def __init__(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        self.method = method
        self.target = target
        self.headers: tuple[tuple[str, str], ...] = tuple(headers)
        self.body = body
        self.wire: str | None = None
        self.connection = 0
        """The number of the connection that it came on; requests with one number shared it."""
        self.arrived: ThreadsafeEvent = ThreadsafeEvent()
        self.arrived.set()
        self.stalled: ThreadsafeEvent = ThreadsafeEvent()
        self.finished: ThreadsafeEvent = ThreadsafeEvent()
        self.closed: ThreadsafeEvent = ThreadsafeEvent()
        self.released: ThreadsafeEvent = ThreadsafeEvent()
        self._json: Mapping[str, object] | None = None

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def json(self) -> Mapping[str, object]:
        """The body as a JSON object; empty if it is none."""
        if self._json is None:
            try:
                self._json = msgspec.json.decode(self.body, type=dict[str, object])
            except msgspec.DecodeError:
                self._json = {}
        return self._json

    @property
    def closed_early(self) -> bool:
        """Tell whether the client went away before the answer was finished."""
        return bool(self.closed) and not self.finished

    def header(self, name: str) -> str | None:
        """Return the first header of that name, in any case."""
        return next((value for key, value in self.headers if key == name.lower()), None)

    def at(self, *path: str | int) -> object:
        """Return the value at a path in the body, such as `at("messages", 0, "role")`; `None` if there is none."""
        value: object = self.json
        for step in path:
            value = _step(value, step)
        return value

    def release(self) -> None:
        """End the silence that a fault made; the answer goes on."""
        self.released.set()

    def __repr__(self) -> str:
        return f"<RecordedRequest {self.method} {self.target}, {len(self.body)} bytes>"


def _step(value: object, step: str | int) -> object:
    if isinstance(step, str):
        return field_of(value, step)
    items = items_of(value)
    return items[step] if step < len(items) else None
