"""Counts with their nouns, for every sentence that a user reads."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """Returns a count with its noun.

    >>> counted(1, "window"), counted(2, "batch", "batches"), counted(1_000, "byte")
    ('1 window', '2 batches', '1,000 bytes')
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
