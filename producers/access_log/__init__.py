"""Visits from the access log of a web server: read once, judged by documented rules, sent exactly once."""
