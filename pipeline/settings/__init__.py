"""What a person sets: the tree, how it is read, and how times and positions are written."""
