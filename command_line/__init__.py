"""Shared by the command lines of the pipeline and the producers, on top of Click."""
