"""The part of each consumer of panes that needs tables: a class for each kind of windows, and one for totals."""
