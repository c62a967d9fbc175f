"""`tidemark verify`: checks a warehouse against its invariants, by definitions, without the code that wrote it."""
