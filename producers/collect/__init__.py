"""`producers collect`: visits and clicks by HTTP, each acknowledged once Kafka has it."""
