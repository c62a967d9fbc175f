"""Tools of set-up and maintenance; no part of the service."""
