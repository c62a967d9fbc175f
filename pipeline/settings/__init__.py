"""Settings: the tree, its sources, and the formats of durations and positions."""
