"""The snippet that a site puts into its pages, as it is served: `tidemark.js` without comments and indentation."""

from pathlib import Path
from typing import Final

SNIPPET: Final = "\n".join(
    line
    for line in map(str.strip, Path(__file__).with_name("tidemark.js").read_text(encoding="utf-8").splitlines())
    if line and not line.startswith("//")
)
