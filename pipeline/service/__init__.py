"""The service: its five steps, how it starts, publishes and keeps its tables in order."""
