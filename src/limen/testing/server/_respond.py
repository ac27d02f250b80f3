"""Responder of the mock provider: a recorded request in, the answer to perform out."""

from collections.abc import Callable, Sequence

from limen.testing.scripts import ERRORS, Answer, MockWire, ProviderError, Script, Send, compact
from limen.testing.server._choice import Choice, UnknownScenario, model_names
from limen.testing.server._fault import FaultContext
from limen.testing.server._faults import apply_faults
from limen.testing.server._recorded import RecordedRequest


class Responder:
    """Answers requests of every wire that it was given; the first wire that recognizes a request answers it."""

    def __init__(self, wires: Sequence[MockWire], choice: Choice) -> None:
        self._wires = tuple(wires)
        self._count = 0
        self.choice = choice
        self.elsewhere = ""

    def answer(self, request: RecordedRequest) -> Answer:
        """Return the answer to one request."""
        self._count += 1
        answer = self._dispatch(request)
        number = f"req-mock-{self._count}"
        return answer.with_header("x-request-id", number).with_header("request-id", number)

    def _dispatch(self, request: RecordedRequest) -> Answer:
        for wire in self._wires:
            kind = wire.recognizes(request)
            if kind == "models":
                return _json(200, wire.models(model_names()))
            if kind == "call":
                request.wire = wire.name
                return self._call(wire, request)
        known = ", ".join(f"…{wire.path}" for wire in self._wires)
        return _json(404, _plain_error(f"the mock provider answers calls at {known} and GET …/models"))

    def _call(self, wire: MockWire, request: RecordedRequest) -> Answer:
        try:
            script = self.choice.script(request, wire.read_request(request).model)
        except UnknownScenario as problem:
            error = ProviderError(404, str(problem), "not_found_error", "model_not_found")
            return _json(404, wire.error_body(error))
        return self._scripted(wire, script, request)

    def _scripted(self, wire: MockWire, script: Script, request: RecordedRequest) -> Answer:
        facts = wire.read_request(request)
        turn = script.turn(facts.assistant_messages)
        if facts.stream:
            headers = (("content-type", wire.stream_type), ("cache-control", "no-cache"))
            answer = Answer(200, headers, tuple(wire.events(turn, facts)), delay_ms=script.delay_ms)
        else:
            body = wire.whole(turn, facts)
            half = len(body) // 2
            parts = (Send("content", body[:half]), Send("content", body[half:]))
            answer = Answer(200, (("content-type", "application/json"),), parts, framing="length")
        context = FaultContext(wire, turn, facts, self.elsewhere, _credential(request))
        return apply_faults(answer, script.faults, context)


def _credential(request: RecordedRequest) -> str:
    shown = request.header("authorization") or request.header("x-api-key") or ""
    return shown.removeprefix("Bearer ")


def stray(record: Callable[[RecordedRequest], None]) -> Callable[[RecordedRequest], Answer]:
    """Return a responder for the origin that redirects point to: nobody should ever come there."""

    def respond(request: RecordedRequest) -> Answer:
        record(request)
        return _json(200, _plain_error("a redirect was followed to another origin"))

    return respond


def _json(status: int, body: bytes) -> Answer:
    return Answer(status, (("content-type", "application/json"),), (Send("content", body),), framing="length")


def _plain_error(message: str) -> bytes:
    error = ERRORS[404]
    return compact({"type": "error", "error": {"message": message, "type": error.type, "code": None}}).encode()
