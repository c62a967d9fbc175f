"""The demo on one machine, with a Kafka broker that needs no Docker."""
