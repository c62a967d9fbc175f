"""`tidemark run`: attempts, one after the other, until it is told to stop."""
