"""Producers of user events: a seeded simulator of a site, access logs, and an HTTP endpoint for browsers."""
