"""The sections of the file that `support-bundle` writes."""
