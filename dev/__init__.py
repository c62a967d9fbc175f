"""Tools for set-up and maintenance; not part of the service."""
