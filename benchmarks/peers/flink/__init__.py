"""Flink as two contestants: by SQL, and by the DataStream API."""
