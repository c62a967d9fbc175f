"""The same work done by peers, side by side, on the same topic and machine: `python -m benchmarks --help`."""
