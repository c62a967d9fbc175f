"""`tidemark status`: what the tables say."""
