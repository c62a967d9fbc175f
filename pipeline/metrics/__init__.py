"""Metrics and health, as Prometheus and a supervisor read them."""
