"""What set-up and maintenance need; no part of the service."""
