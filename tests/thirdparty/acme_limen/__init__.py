"""Acme's models behind limen's boundary: a distribution of its own, which limen finds by its entry point."""

from acme_limen._adapter import AcmeAdapter, AcmeOptions, for_route

__all__ = ["AcmeAdapter", "AcmeOptions", "for_route"]
