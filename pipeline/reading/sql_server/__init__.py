"""`tidemark sql-server`: the tables for BI tools, in the protocol of PostgreSQL, read-only by construction."""
