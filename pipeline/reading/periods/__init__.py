"""From a question about a period to figures, each with its state: pages, JSON, CSV and SQL views ask this package."""
