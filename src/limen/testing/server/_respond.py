"""From a recorded request to the answer that will be performed."""

from collections.abc import Callable, Sequence

from limen.testing.server._answer import ERRORS, Answer, ProviderError, Send
from limen.testing.server._choice import Choice, UnknownScenario, model_names
from limen.testing.server._fault import Scene
from limen.testing.server._faults import spoil
from limen.testing.server._recorded import RecordedRequest
from limen.testing.server._script import Script
from limen.testing.server._speaker import Speaker, compact


class Responder:
    """Speaks every wire that it was given; the path says which one a request is for."""

    def __init__(self, speakers: Sequence[Speaker], choice: Choice) -> None:
        self._speakers = tuple(speakers)
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
        if request.method == "GET" and request.path.endswith("/models"):
            return _json(200, _models(anthropic=request.header("anthropic-version") is not None))
        speaker = next((one for one in self._speakers if request.path.endswith(one.path)), None)
        if speaker is None or request.method != "POST":
            wires = ", ".join(f"POST …{one.path}" for one in self._speakers)
            return _json(404, _plain_error(f"the mock provider answers {wires} and GET …/models"))
        request.wire = speaker.name
        ask = speaker.ask(request.json)
        try:
            script = self.choice.script(request, ask.model)
        except UnknownScenario as problem:
            return _json(
                404, speaker.error_body(ProviderError(404, str(problem), "not_found_error", "model_not_found"))
            )
        return self._scripted(speaker, script, request)

    def _scripted(self, speaker: Speaker, script: Script, request: RecordedRequest) -> Answer:
        ask = speaker.ask(request.json)
        turn = script.turn(ask.assistant_messages)
        if ask.stream:
            headers = (("content-type", speaker.stream_type), ("cache-control", "no-cache"))
            answer = Answer(200, headers, tuple(speaker.events(turn, ask)), delay_ms=script.delay_ms)
        else:
            body = speaker.whole(turn, ask)
            half = len(body) // 2
            parts = (Send("content", body[:half]), Send("content", body[half:]))
            answer = Answer(200, (("content-type", "application/json"),), parts, framing="length")
        return spoil(answer, script.faults, Scene(speaker, turn, ask, self.elsewhere, _credential(request)))


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


def _models(*, anthropic: bool) -> bytes:
    names = model_names()
    if anthropic:
        data = [
            {"type": "model", "id": name, "display_name": name, "created_at": "2026-11-30T00:00:00Z"} for name in names
        ]
        page = {"data": data, "has_more": False, "first_id": names[0], "last_id": names[-1]}
        return compact(page).encode()
    listed = [{"id": name, "object": "model", "created": 1796000000, "owned_by": "mock"} for name in names]
    return compact({"object": "list", "data": listed}).encode()
