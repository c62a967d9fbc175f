"""Flink by the DataStream API, as a contestant."""

from benchmarks.peers.flink.contestant import compete
from benchmarks.task import task_argument

if __name__ == "__main__":
    compete(task_argument(), "datastream")
