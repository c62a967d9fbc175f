"""Counts with their nouns, and durations with their units, for every sentence that a user reads."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """Returns a count with its noun.

    >>> counted(1, "window"), counted(2, "batch", "batches"), counted(1_000, "byte")
    ('1 window', '2 batches', '1,000 bytes')
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def span_of(milliseconds: int) -> str:
    """Returns a duration as text: in the largest unit of which it has at least two or a whole number, to a tenth.

    >>> [span_of(milliseconds) for milliseconds in (700, 60_000, 61_000, 150_000, 59_990)]
    ['0.7 s', '1 min', '61 s', '2.5 min', '1 min']
    """
    if abs(milliseconds) < 100:  # noqa: PLR2004 - a tenth of a second
        return f"{milliseconds} ms" if milliseconds else "0 s"
    _, length = _unit(milliseconds)
    rounded = round(milliseconds * 10 / length) * length // 10
    name, length = _unit(rounded)
    return f"{f'{rounded / length:.1f}'.removesuffix('.0')} {name}"


def _unit(milliseconds: int) -> tuple[str, int]:
    """Returns the name of a unit and its length in milliseconds."""
    for name, length in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000)):
        if abs(milliseconds) >= 2 * length or milliseconds % length == 0:
            return name, length
    return "s", 1000
