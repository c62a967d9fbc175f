"""How sketches are merged, by their kind."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tidemark.pipeline import ddsketch, sketches
from tidemark.pipeline.measures import Join

Merge = Callable[[Iterable[bytes]], bytes]
MERGED: Final[Mapping[Join, Merge]] = {Join.SKETCH: sketches.merged, Join.DDSKETCH: ddsketch.merged}
