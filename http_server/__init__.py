"""An HTTP server for strangers: bounded connections, headers, bodies, time and log lines."""
