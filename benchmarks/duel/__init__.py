"""A duel: engines count the same topic with faults, are killed in the middle, and are compared with the truth."""
