"""The service: from click and visit events on Kafka to windowed user-behaviour tables in Delta Lake."""
