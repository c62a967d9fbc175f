"""Folds a batch in Spark: checks each decoded record, and aggregates them; reads and writes no table."""
