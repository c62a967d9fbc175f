"""Pauses between tries that grow while the tries fail."""


class Pauses:
    """Gives one pause after the other, in seconds; the last one again and again."""

    def __init__(self, *seconds: float) -> None:
        self._seconds = seconds
        self._given = 0

    def next(self) -> float:
        """The pause before the next try."""
        self._given += 1
        return self._seconds[min(self._given, len(self._seconds)) - 1]

    def reset(self) -> None:
        """Begins again with the first: something went well."""
        self._given = 0
