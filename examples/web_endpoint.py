"""A web endpoint, as an ASGI application without a framework: the model's text as it comes, failures with a status.

DEEPSEEK_API_KEY=… uvicorn examples.web_endpoint:app
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

import limen

MODEL = "deepseek/deepseek-v4-flash"
Event = MutableMapping[str, Any]
STATUSES = {"RATE_LIMIT": 429, "OVERLOADED": 503, "TIMEOUT": 504}


async def app(scope: Event, receive: Callable[[], Awaitable[Event]], send: Callable[[Event], Awaitable[None]]) -> None:
    """Answer `GET /?q=…`; one runtime serves all requests, and a client that goes away ends its call."""
    if scope["type"] == "lifespan":
        await receive()
        async with limen.open_runtime() as scope["state"]["llm"]:
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    llm: limen.LlmRuntime = scope["state"]["llm"]
    question = parse_qs(scope["query_string"].decode()).get("q", ["Say hello."])[0]
    async with llm.stream(MODEL, question) as stream:
        try:
            await stream.started()  # a failure before the first event still has a status of its own
        except limen.LlmError as error:
            await begin(send, STATUSES.get(error.code, 502))
            await send({"type": "http.response.body", "body": str(error.code).encode()})
            return
        await begin(send, 200)
        async for piece in stream.text():
            await send({"type": "http.response.body", "body": piece.encode(), "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def begin(send: Callable[[Event], Awaitable[None]], status: int) -> None:
    """Send the head of the answer."""
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
