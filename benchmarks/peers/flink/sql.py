"""Flink by SQL, as a contestant."""

from benchmarks.peers.flink.contestant import compete
from benchmarks.task import told

if __name__ == "__main__":
    compete(told(), "sql")
