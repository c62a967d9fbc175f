"""`tidemark advise`: estimates the effect of other bounds."""
