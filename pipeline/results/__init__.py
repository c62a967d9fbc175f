"""Results: how panes become result tables, a class for each kind of windows, and one for the totals of users."""
