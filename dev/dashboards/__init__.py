"""Generates Grafana's dashboards with its Foundation SDK."""
