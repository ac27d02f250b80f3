"""Message of the user: the prompt, what is piped in, and what is attached."""

import mimetypes
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from limen.cli._report import UsageProblem
from limen.contract import ContentBlock, FileBlock, ImageBlock, Message, TextBlock, user

# Seconds after which a command that waits for its stdin says so.
_STDIN_NOTICE_S: Final = 3.0


def prompt_message(prompt: str | None, attachments: Sequence[str]) -> Message:
    """Return the user's message: what is piped in, a blank line, the prompt; and before them the attachments.

    The prompt `-` stands for what is piped in, and so does the attachment `-`, which may be an image or a document.
    Raises `UsageProblem` where nothing is said.
    """
    if "-" in attachments:
        piped, prompt = "", "" if prompt == "-" else prompt or ""
    elif prompt == "-":
        piped, prompt = piped_text(), ""
    else:
        piped, prompt = ("" if is_interactive() else _piped_beside()), prompt or ""
    parts = [part for part in (piped, prompt) if part.strip()]
    blocks = [attached(one) for one in attachments]
    if not parts and not blocks:
        raise UsageProblem("the prompt is empty: give one, or pipe one in")
    # What was piped in usually ends with a line's end of its own.
    text = "\n\n".join((*(part.rstrip("\r\n") for part in parts[:-1]), *parts[-1:]))
    return user([*blocks, TextBlock(text)]) if blocks and text else user(blocks or text)


def prompt_text(prompt: str) -> str:
    """Return the prompt, read from stdin for `-`."""
    text = piped_text() if prompt == "-" else prompt
    if not text.strip():
        raise UsageProblem("the prompt is empty")
    return text


def is_interactive() -> bool:
    """Tell whether nothing is piped in: stdin is a terminal, or there is none."""
    given: object = sys.stdin  # None where a program is started without it: `limen … <&-`
    return given is None or sys.stdin.isatty()


def _piped_beside() -> str:
    """Return what is piped in; a parent that never ends its pipe is a wait that is told on stderr."""
    notice = threading.Timer(_STDIN_NOTICE_S, _say_what_is_awaited)
    notice.daemon = True
    notice.start()
    try:
        return piped_text()
    finally:
        notice.cancel()


def _say_what_is_awaited() -> None:
    print("limen: reading stdin to its end, which goes before the prompt; < /dev/null gives none", file=sys.stderr)


def piped_text() -> str:
    """Return what is piped in, as text."""
    try:
        return stdin_bytes().decode()
    except UnicodeDecodeError as fault:
        place = fault.start
    raise UsageProblem(f"stdin is not UTF-8 text (byte {place}); -a - attaches an image or a document")


def stdin_bytes() -> bytes:
    """Return what is piped in."""
    given: object = sys.stdin
    if given is None:
        raise UsageProblem("there is no stdin to read")
    return sys.stdin.buffer.read()


def read_file(file: str) -> bytes:
    """Return a file's content, or stdin's for `-`."""
    if file == "-":
        return stdin_bytes()
    problem: str
    try:
        return Path(file).read_bytes()
    except OSError as fault:
        problem = f"{file}: {fault.strerror or fault}"
    raise UsageProblem(problem)


def json_or_file(source: str) -> bytes:
    """Return an option's JSON: what is written there, or the content of the file that it names."""
    return source.encode() if source.lstrip().startswith("{") else read_file(source)


def attached(source: str) -> ContentBlock:
    """Return what `-a` names as a block: an image, a document or sound by its first bytes, else the file's text.

    An address goes to the provider as it is; it stands for an image where its path ends like one.
    """
    if source.startswith(("http://", "https://")):
        kind = mimetypes.guess_type(source.partition("?")[0])[0] or ""
        return ImageBlock(url=source) if kind.startswith("image/") else FileBlock(url=source)
    from limen.adapters.kit import media_type_of  # the kit is loaded where something is attached

    data = read_file(source)
    kind = media_type_of(data) or ""
    if kind.startswith("image/"):
        return ImageBlock(kind, data)
    if kind:
        return FileBlock(kind, data, name=None if source == "-" else Path(source).name)
    try:
        return TextBlock(data.decode())
    except UnicodeDecodeError:
        pass
    raise UsageProblem(f"{source} is no image, document or sound whose first bytes are known, and no UTF-8 text")
