"""`tidemark erase`: erases a user from every table."""
