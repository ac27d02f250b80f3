"""Acme's models behind limen's boundary: a distribution of its own, which limen finds by its entry point."""

from acme_limen._adapter import SPEC, AcmeAdapter, AcmeOptions

__all__ = ["SPEC", "AcmeAdapter", "AcmeOptions"]
