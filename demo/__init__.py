"""Everything on one machine, and the Kafka broker that makes it possible without Docker."""
