"""`tidemark report`: a day as one HTML file."""
