"""`tidemark dashboard`: a web page of the tables, read without Spark."""
