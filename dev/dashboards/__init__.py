"""Grafana's dashboards, made with its Foundation SDK."""
