"""Kinds of windows: one class each. No tables, no engine."""
