"""Flink, as a contestant that drains by SQL and as one that drains by the DataStream API."""
