"""Spark, its jars and Java, on which the service runs."""
