"""`tidemark reset-watermark`: puts back a watermark that ran ahead."""
