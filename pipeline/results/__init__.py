"""Results: publication and compaction, with a class for each kind of windows and for the totals of users."""
