"""The peers, each in a process of its own."""
