"""`tidemark advise`: what other bounds would have made of it."""
