"""`tidemark verify`: a warehouse held against its laws, by definitions alone and not by the code that wrote it."""
