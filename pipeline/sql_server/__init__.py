"""`tidemark sql-server`: serves the tables to BI tools, with the protocol of PostgreSQL, read-only."""
