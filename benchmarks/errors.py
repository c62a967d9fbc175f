"""Errors of a measurement."""


class BenchmarkError(Exception):
    """A contestant failed, or did other work than it was given: there is nothing to compare."""
