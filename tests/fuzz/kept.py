"""Records by name that broke something, or might: the files in `corpus`."""

from pathlib import Path

_FOLDER = Path(__file__).parent / "corpus"


def corpus() -> dict[str, bytes]:
    """Values by the sentence that describes their fault."""
    return {path.stem.replace("-", " "): path.read_bytes() for path in sorted(_FOLDER.glob("*.bin"))}
