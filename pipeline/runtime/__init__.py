"""What the service runs on: Spark, its jars, Java."""
