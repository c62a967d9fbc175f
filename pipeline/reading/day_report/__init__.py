"""`tidemark report`: a day as one file for a browser."""
