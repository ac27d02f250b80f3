"""A conversation in a file: a message a line, as JSON."""

from collections.abc import Sequence
from pathlib import Path

from limen.cli._report import UsageProblem
from limen.contract import LlmError, Message, decode_message, encode
from limen.recording import write_atomically


def read_history(file: Path) -> list[Message]:
    """Return the messages of a file, none where it is not there; raises `UsageProblem` naming the line."""
    problem: str
    try:
        lines = file.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    except OSError as fault:
        problem = f"{file} cannot be read: {fault.strerror or fault}"
    else:
        return [_message(file, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    raise UsageProblem(problem)


def write_history(file: Path, messages: Sequence[Message]) -> None:
    """Write the messages, whole or not at all; raises `UsageProblem` where they cannot be written."""
    problem: str
    try:
        write_atomically(file, b"".join(encode(message) + b"\n" for message in messages))
        return
    except OSError as fault:
        problem = f"{file} cannot be written: {fault.strerror or fault}"
    raise UsageProblem(problem)


def _message(file: Path, number: int, line: bytes) -> Message:
    problem: str
    try:
        return decode_message(line)
    except LlmError as fault:
        problem = fault.failure.message
    raise UsageProblem(f"{file}, line {number}: {problem}")
