"""The verbs that a person runs, a room each."""
