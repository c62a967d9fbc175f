"""`tidemark dead-letters`: what was rejected, and why; and what is no longer, again."""
