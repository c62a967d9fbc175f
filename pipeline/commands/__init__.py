"""What a person runs: a room for each verb."""
