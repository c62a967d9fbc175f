"""An HTTP server for untrusted clients: bounded connections, headers, bodies, time and log lines."""
