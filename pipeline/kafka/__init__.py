"""The topic: its offsets, the query that reads it, schemas from a registry, and the mirrored offsets."""
