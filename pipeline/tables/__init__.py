"""The Delta tables: ledger, panes, page views, dead letters, and the fence."""
