"""`tidemark live`: the SQL of a view that has the open windows, too."""
