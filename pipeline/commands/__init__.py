"""The verbs of `tidemark`, one module each."""
