"""The command: thin over the same functions that a program calls. Needs `limen[cli]` (click)."""

from limen.cli._app import run

__all__ = ["run"]
