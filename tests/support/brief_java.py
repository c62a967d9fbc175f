"""Options of Java processes that run for seconds, next to others."""

from typing import Final

BRIEF_JVM: Final = "-XX:TieredStopAtLevel=1"
"""Turns off the optimizing compiler, which takes twice as long as a small task."""
BRIEF_DRIVER: Final = {"spark.driver.memory": "1g", "spark.driver.defaultJavaOptions": BRIEF_JVM}
"""Properties of Spark."""
