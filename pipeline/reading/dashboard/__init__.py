"""`tidemark dashboard`: a web page over the tables, read without Spark."""
