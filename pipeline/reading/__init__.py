"""Reads a warehouse, and writes nothing."""
