"""Measures the cost of accepting an event by HTTP and answering once Kafka has it."""
