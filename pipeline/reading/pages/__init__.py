"""What pages tell of a warehouse, by delta-rs: readings of its tables, and how they are written."""
