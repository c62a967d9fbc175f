"""Compares Tidemark with peers that do the same work on the same topic and machine: `python -m benchmarks --help`."""
