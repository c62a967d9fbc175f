"""How a client gets in to Kafka: one vocabulary, told to the Java client and to librdkafka."""
