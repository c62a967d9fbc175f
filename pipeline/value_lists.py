"""Lists of texts with a bound: the first ones in the order of events, or the lowest of the different ones.

A state is a function of the events alone: states merge in any order, and any cut of the events gives the same bytes.
It has its bound, a count, and its first entries in the order of their bytes; without a text it is empty. The entry of
an event is its time and record position, then the text; that of a set is the text alone. The count of events is exact,
that of a set is one above the bound at most.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from struct import Struct
from typing import Final

_HEAD: Final = Struct(">IQ")
"""The bound and the count."""
_LENGTH: Final = Struct(">I")
"""The bytes of an entry, which follow."""
_PLACE: Final = Struct(">QQ")
"""Time and record position of an event; neither is negative, so the order of bytes is theirs."""


def set_of(texts: Iterable[str], most: int) -> bytes:
    """Returns the state of the different `texts`, of which the `most` lowest are listed."""
    return _set_of({text.encode() for text in texts}, most, is_cut=False)


def path_of(events: Iterable[tuple[int, int, str]], most: int) -> bytes:
    """Returns the state of events, of which the first `most` are listed: time in ms, record position and text."""
    entries = [_PLACE.pack(time, position) + text.encode() for time, position, text in events]
    return _state(most, len(entries), sorted(entries))


def merged_sets(states: Iterable[bytes]) -> bytes:
    """Returns the state of all texts in states of sets."""
    filled = [*filter(None, states)]
    if len(filled) <= 1:
        return b"".join(filled)
    texts = {*chain.from_iterable(map(_entries, filled))}
    return _set_of(texts, _head(filled[0])[0], is_cut=any(map(left_out, filled)))


def merged_paths(states: Iterable[bytes]) -> bytes:
    """Returns the state of all events in states of events."""
    filled = [*filter(None, states)]
    if len(filled) <= 1:
        return b"".join(filled)
    entries = sorted(chain.from_iterable(map(_entries, filled)))
    return _state(_head(filled[0])[0], sum(_head(state)[1] for state in filled), entries)


def texts_of_set(state: bytes) -> list[str]:
    """Returns the listed texts of a set, the lowest first.

    >>> texts_of_set(set_of(["b", "a", "b"], 9))
    ['a', 'b']
    """
    return [entry.decode() for entry in _entries(state)]


def texts_of_path(state: bytes) -> list[str]:
    """Returns the listed texts of events, the first event's first.

    >>> texts_of_path(path_of([(7, 0, "b"), (5, 1, "a"), (5, 0, "b")], 9))
    ['b', 'a', 'b']
    """
    return [entry[_PLACE.size :].decode() for entry in _entries(state)]


def left_out(state: bytes) -> int:
    """Returns how many texts are not listed: of events their number, of a set 1 if there is any.

    >>> left_out(path_of([(1, 0, "a"), (2, 0, "a"), (3, 0, "a")], 1)), left_out(set_of("abc", 1)), left_out(b"")
    (2, 1, 0)
    """
    if not state:
        return 0
    most, count = _head(state)
    return max(count - most, 0)


def _set_of(texts: set[bytes], most: int, *, is_cut: bool) -> bytes:
    count = most + 1 if is_cut else min(len(texts), most + 1)
    return _state(most, count, sorted(texts))


def _state(most: int, count: int, entries: list[bytes]) -> bytes:
    if not entries:
        return b""
    listed = (_LENGTH.pack(len(entry)) + entry for entry in entries[:most])
    return _HEAD.pack(most, count) + b"".join(listed)


def _head(state: bytes) -> tuple[int, int]:
    most, count = _HEAD.unpack_from(state)
    return most, count


def _entries(state: bytes) -> Iterator[bytes]:
    start = _HEAD.size
    while start < len(state):
        end = start + _LENGTH.size + _LENGTH.unpack_from(state, start)[0]
        yield state[start + _LENGTH.size : end]
        start = end
