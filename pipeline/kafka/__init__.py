"""Kafka as the service sees it: where to read, how far it goes, and the committed offsets for others to see."""
