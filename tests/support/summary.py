"""The result of a long run for other programs, written after each step, so that a run that is cut off has one, too."""

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

FILE: Final = "TESTS_SUMMARY"
"""The environment variable with the path of the file; without it no program writes a summary."""


@dataclass
class Summary:
    """How many things ran so far, and the command that repeats each failure, by its name."""

    count: int = 0
    failures: dict[str, str] = field(default_factory=dict)

    def write(self, environment: Mapping[str, str] = os.environ) -> None:
        """Replaces the file that the environment names."""
        if FILE in environment:
            path = Path(environment[FILE])
            new = path.with_name(f"{path.name}.{threading.get_ident()}")
            new.write_text(json.dumps(asdict(self)) + "\n")
            new.replace(path)

    @classmethod
    def read(cls, path: Path) -> "Summary | None":
        """Returns the last summary; None if the program wrote no summary."""
        return cls(**json.loads(path.read_text())) if path.exists() else None
