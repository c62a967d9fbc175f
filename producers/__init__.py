"""Producers of user events: a seeded site simulator, its encoding, sending and truth."""
