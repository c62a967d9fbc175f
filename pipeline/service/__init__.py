"""The service: starts, the five steps of a batch, publication, and upkeep of the tables."""
