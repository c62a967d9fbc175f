"""Measures the age of records at their commit, and whether anything grows, under a steady load on the service."""
