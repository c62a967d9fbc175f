"""The snippet for the pages of a site: `tidemark.js` without comments and indentation."""

from pathlib import Path
from typing import Final

SNIPPET: Final = "\n".join(
    line
    for line in map(str.strip, Path(__file__).with_name("tidemark.js").read_text(encoding="utf-8").splitlines())
    if line and not line.startswith("//")
)
