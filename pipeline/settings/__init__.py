"""Settings: the tree, how it is read, and how durations and positions are written."""
