"""`tidemark sql`: the tables as views in DuckDB."""
