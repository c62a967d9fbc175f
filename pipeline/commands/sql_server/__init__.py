"""`tidemark sql-server`: the tables for BI tools, by Spark's Thrift server."""
