"""Errors of a measurement."""


class BenchmarkError(Exception):
    """A contestant failed or did different work, so results cannot be compared."""
