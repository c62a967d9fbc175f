"""Spark, its jars and Java, for the service."""
