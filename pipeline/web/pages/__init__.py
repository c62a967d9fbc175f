"""Readings of tables for HTML pages, by delta-rs, and their formats."""
