"""What it costs to take an event by HTTP and to answer when Kafka has it."""
