"""`tidemark correct`: too-late events, added to closed windows."""
