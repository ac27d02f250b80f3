"""An HTTP client for the mock provider's own tests: a socket, and nothing that could repair what it reads."""

import asyncio
import json
from dataclasses import dataclass, field
from urllib.parse import urlsplit

CHAT = "openai-chat"
MESSAGES = "anthropic-messages"
PATHS = {CHAT: "/chat/completions", MESSAGES: "/v1/messages"}


@dataclass
class Raw:
    """An answer as it arrived: each read of the socket, and how the connection ended."""

    reads: list[bytes] = field(default_factory=list)
    ended: str = ""

    @property
    def received(self) -> bytes:
        return b"".join(self.reads)

    @property
    def status(self) -> int:
        return int(self.received.split(b" ", 2)[1])

    @property
    def headers(self) -> dict[str, str]:
        head = self.received.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value for name, _, value in (line.partition(": ") for line in head)}

    @property
    def body(self) -> bytes:
        rest = self.received.partition(b"\r\n\r\n")[2]
        if self.headers.get("transfer-encoding") != "chunked":
            return rest
        body = b""
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            if size == b"not-a-size":
                break
            body, rest = body + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
        return body

    @property
    def payloads(self) -> list[dict[str, object]]:
        lines = self.body.decode().split("\n")
        return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def request_bytes(method: str, url: str, body: object = None) -> bytes:
    split = urlsplit(url)
    data = b"" if body is None else json.dumps(body).encode()
    target = split.path + (f"?{split.query}" if split.query else "")
    lines = [
        f"{method} {target} HTTP/1.1",
        f"host: {split.netloc}",
        "connection: close",
        f"content-length: {len(data)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + data


async def read_all(reader: asyncio.StreamReader) -> Raw:
    raw = Raw()
    try:
        while data := await reader.read(65536):
            raw.reads.append(data)
        raw.ended = "eof"
    except ConnectionResetError:
        raw.ended = "reset"
    return raw


async def ask(method: str, url: str, body: object = None) -> Raw:
    split = urlsplit(url)
    reader, writer = await asyncio.open_connection(split.hostname, split.port)
    try:
        writer.write(request_bytes(method, url, body))
        return await read_all(reader)
    finally:
        writer.close()


def chat_body(model: str = "some-model", assistants: int = 0, **more: bool | None) -> dict[str, object]:
    messages: list[dict[str, object]] = [{"role": "user", "content": "What is 20 + 22?"}]
    messages += [{"role": "assistant", "content": "…"}] * assistants
    return {"model": model, "stream": True, "messages": messages, "stream_options": {"include_usage": True}, **more}
