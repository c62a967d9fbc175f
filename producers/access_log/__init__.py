"""Visits from the access log of a web server: read once, judged by stated rules, sent exactly once."""
