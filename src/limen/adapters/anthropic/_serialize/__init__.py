"""Anthropic Messages: options to the request on the wire, or a refusal before any I/O (Q1); pure, no I/O."""

from limen.adapters.anthropic._serialize._request import build_request

__all__ = ["build_request"]
