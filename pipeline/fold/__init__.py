"""Folds a batch in Spark: decodes Kafka records, checks each, and aggregates them; reads and writes no table."""
