"""How sketches and lists are merged, by their kind."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tidemark.pipeline import ddsketch, sketches, value_lists
from tidemark.pipeline.measures import Join

Merge = Callable[[Iterable[bytes]], bytes]
MERGED: Final[Mapping[Join, Merge]] = {
    Join.SKETCH: sketches.merged,
    Join.DDSKETCH: ddsketch.merged,
    Join.SET: value_lists.merged_sets,
    Join.PATH: value_lists.merged_paths,
}
