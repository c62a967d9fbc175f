"""Connection and credentials of a Kafka client: one set of settings for the Java client and librdkafka."""
