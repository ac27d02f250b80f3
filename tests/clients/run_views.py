"""The packages that define Pi's events and UI message streams read a thousand random streams of limen's views.

Run by `make test-views`. Needs node and npm, whose ordinary client fetches the packages into a folder of its own;
without them it says so and ends. Each event goes through the package's own code, and one of each shape through its
types.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from _random_streams import stream

from limen.contract import StreamChunk
from limen.views import pi, ui_messages

HERE = Path(__file__).parent / "node"
FOLDER = Path(__file__).parents[2] / ".venv-views"
STREAMS = 1000
# Of Pi only the declarations and two files without dependencies are needed: the archive, without the SDKs it installs.
PI = {"pi-0.85": "@earendil-works/pi-ai@0.85.0", "pi-latest": "@earendil-works/pi-ai@latest"}
INSTALLED = ("ai@latest", "partial-json@0.1.7", "typescript@5")


def main() -> int:
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        print("node and npm are not installed: skipped")
        return 0
    try:
        fetch(npm)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        print("the packages cannot be fetched here (no package index?): skipped")
        return 0
    streams = [stream(seed) for seed in range(STREAMS)]
    shapes: dict[str, dict[str, bytes]] = {"pi": {}, "ui": {}}
    with (FOLDER / "streams.jsonl").open("wb") as file:
        for chunks in streams:
            events, parts = events_of(chunks), parts_of(chunks)
            note(shapes["pi"], (event.to_json() for event in events))
            note(shapes["ui"], (part.to_json() for part in parts))
            pi_json = b"[%b]" % b",".join(event.to_json() for event in events)
            sse = json.dumps(b"".join([*(part.sse() for part in parts), ui_messages.DONE]).decode())
            file.write(b'{"pi":%b,"ui":%b}\n' % (pi_json, sse.encode()))
    write_types(shapes)
    codes = [
        subprocess.run(command, cwd=FOLDER, timeout=300, check=False).returncode
        for command in ([node, "check.mjs"], [node, "node_modules/typescript/bin/tsc", "-p", "."])
    ]
    print(f"types: {len(shapes['pi'])} shapes of Pi's events and {len(shapes['ui'])} of UI parts")
    return 1 if any(codes) else 0


def fetch(npm: str) -> None:
    """Fetch the packages once, and copy the check beside them, where node finds them."""
    FOLDER.mkdir(exist_ok=True)
    if not (FOLDER / ".installed").exists():
        (FOLDER / "package.json").write_text('{"private": true, "type": "module"}', encoding="utf-8")
        run([npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *INSTALLED])
        for name, package in PI.items():
            archive = run([npm, "pack", "--silent", package]).split()[-1]
            shutil.unpack_archive(FOLDER / archive, FOLDER / name, filter="data")
        (FOLDER / ".installed").touch()
    for name in ("check.mjs", "tsconfig.json"):
        shutil.copy(HERE / name, FOLDER / name)


def run(command: list[str]) -> str:
    return subprocess.run(command, cwd=FOLDER, check=True, stdout=subprocess.PIPE, text=True, timeout=300).stdout


def events_of(chunks: list[StreamChunk]) -> list[pi.Event]:
    view = pi.View(provider="route", model="some/model", timestamp=1796000000000)
    return [event for chunk in chunks for event in view.feed(chunk)] + view.eof()


def parts_of(chunks: list[StreamChunk]) -> list[ui_messages.Part]:
    view = ui_messages.View(message_id="msg_1")
    return [part for chunk in chunks for part in view.feed(chunk)] + view.eof()


def note(shapes: dict[str, bytes], values: Iterable[bytes]) -> None:
    """Keep the first value of each shape: which fields there are, of which types."""
    for value in values:
        shapes.setdefault(json.dumps(shape(json.loads(value)), sort_keys=True), value)


def shape(value: object, name: str = "") -> object:
    if isinstance(value, dict):
        # What a model puts into arguments is free.
        return "object" if name in ("arguments", "input") else {key: shape(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return sorted({json.dumps(shape(one), sort_keys=True) for one in value})
    # Names of types and reasons are words of the protocol.
    words = name in ("type", "reason", "stopReason", "role", "finishReason")
    return value if words else type(value).__name__


def write_types(shapes: dict[str, dict[str, bytes]]) -> None:
    """Write a TypeScript program that gives one value of each shape to functions of the packages' types."""
    lines = [
        f'import type {{ AssistantMessageEvent as Pi{n} }} from "./{name}/package/dist/types";'
        for n, name in enumerate(PI)
    ]
    lines.append('import type { UIMessageChunk } from "ai";')
    for n in range(len(PI)):
        lines.append(f"declare function pi{n}<T extends Pi{n}>(event: T): void;")
        lines += [f"pi{n}({value.decode()});" for value in shapes["pi"].values()]
    lines.append("declare function ui(part: UIMessageChunk): void;")
    lines += [f"ui({value.decode()});" for value in shapes["ui"].values()]
    (FOLDER / "types.ts").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
