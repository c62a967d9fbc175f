"""Finds the jar of the connector, our source for Spark, in the package: the wheel has it, a checkout compiles it."""

import sys
from pathlib import Path
from typing import Final

from tidemark.pipeline.errors import SetUpError, exit_code_of

SOURCE: Final = "tidemark.KafkaColumns"
"""The name by which Spark finds the connector's columnar source."""
PLANNER: Final = "tidemark.TopicPlanner"
"""The name by which Spark finds the stream of ranges."""
JAR: Final = Path(__file__).resolve().parents[1] / "tidemark-connector.jar"


def connector_jar() -> Path:
    """Returns the path of the jar. Raises SetUpError if it is missing."""
    if not JAR.is_file():
        raise SetUpError(f"{JAR} is missing: install a wheel of tidemark-lake, or run `make setup` in a checkout")
    return JAR


def main() -> int:
    """Prints the path of the jar; returns exit code 2 if it is missing."""
    return exit_code_of(lambda: sys.stdout.write(f"{connector_jar()}\n"))


if __name__ == "__main__":
    sys.exit(main())
