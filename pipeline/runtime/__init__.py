"""Starts Spark with its jars and Java."""
