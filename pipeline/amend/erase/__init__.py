"""`tidemark erase`: a person leaves every table."""
