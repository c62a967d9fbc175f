"""`tidemark check`: checks whether `run` would start, and what to do if not. It creates nothing permanent."""
