"""Prints the page: ``python -m tests.quality.conformance > benchmarks/CONFORMANCE.md``."""

from .page import page

print(page(), end="")
