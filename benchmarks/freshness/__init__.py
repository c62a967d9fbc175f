"""How old a record is when it is committed, and whether anything grows: steady load against the running service."""
