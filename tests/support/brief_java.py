"""Java for what lives for seconds beside others."""

from typing import Final

BRIEF_JVM: Final = "-XX:TieredStopAtLevel=1"
"""For small tasks: compiling it well costs twice what it is compiled for."""
BRIEF_DRIVER: Final = {"spark.driver.memory": "1g", "spark.driver.defaultJavaOptions": BRIEF_JVM}
"""Properties of Spark."""
