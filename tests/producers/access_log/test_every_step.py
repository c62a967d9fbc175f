"""A server's steps between any two steps of its reader: nothing is lost, nothing is read twice."""

import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

from tests.producers.access_log.log_writer import Link, LinkedServer, Reader, Server
from tests.support.seeds import SEED

SYSTEM_CALLS: Final = {
    "_open",
    "fstat",
    "is_symlink",
    "listdir",
    "read",
    "lstat",
    "readlink",
    "scandir",
    "seek",
    "stat",
}
"""Functions of Python that are one each; `_open` opens a file by a type, which no profile shows."""
Steps = list[Callable[[Server], object]]


@contextmanager
def interleaved(acts: dict[int, list[Callable[[], object]]]) -> Iterator[Callable[[], int]]:
    """Does each act, and takes it out, before the system call of that number which the reader makes.

    Yields what returns the number of calls so far.
    """
    calls = 0

    def profile(frame: FrameType, event: str, function: Any) -> None:
        nonlocal calls
        name = frame.f_code.co_name if event == "call" else function.__name__ if event == "c_call" else ""
        if name in SYSTEM_CALLS:
            calls += 1
            for act in acts.pop(calls, ()):
                act()

    sys.setprofile(profile)
    try:
        yield lambda: calls
    finally:
        sys.setprofile(None)


def wrote(server: Server) -> None:
    """Writes a line that differs in length from all others."""
    server.line(20 + 7 * len(server.written))
    server.write()


def copy_truncate(server: Server) -> None:
    server.copy()
    server.truncate()


def rename(server: Server) -> None:
    server.rename()
    server.reopen()


ROTATIONS: Final[dict[str, Steps]] = {
    "copied": [copy_truncate, wrote],
    "copied later": [wrote, Server.copy, Server.truncate, wrote],
    "renamed": [wrote, Server.rename, wrote, Server.reopen, wrote],
    "copied and renamed": [wrote, copy_truncate, wrote, rename, wrote],
    "copied, renamed and compressed": [wrote, copy_truncate, wrote, rename, lambda one: one.compress(1), wrote],
    "compressed": [rename, lambda one: one.compress(1), wrote],
    "compressed in steps": [
        *(wrote, rename, wrote),
        *(lambda one: one.begin_compression(1, ".zst"), wrote, lambda one: one.end_compression(1, ".zst"), wrote),
    ],
}
READINGS: Final = ("first", "read on", "started again")
BEFORE: Final[dict[str, Steps]] = {
    "an empty log": [],
    "a log": [wrote, wrote, wrote],
    "a log that was rotated": [wrote, rename, wrote, wrote],
}
LINKED: Final[list[Callable[[LinkedServer], object]]] = [
    LinkedServer.open_next,
    wrote,
    LinkedServer.unlink,
    LinkedServer.link,
    wrote,
]
TRUNCATED: Final[Steps] = [wrote, Server.truncate, wrote]
"""Before the second of them it is noted whether lines were read."""


SLOW: Final = pytest.mark.slow
FEW_SAMPLE_OR_ALL: Final = pytest.mark.parametrize(
    "most",
    [1, pytest.param(20, marks=SLOW), pytest.param(1_000, marks=(pytest.mark.nightly, SLOW))],
    ids=["few", "sample", "all"],
)


def places_in(count: int, most: int) -> Iterator[int]:
    """Yields every place among `count` calls, `most` of them if there are more."""
    chance = random.Random(SEED + count)
    yield from chance.sample(range(1, count + 2), min(count + 1, most))


def read_with(steps: Sequence[Callable[[], object]], places: list[int], reader: Reader) -> int:
    """Reads all while a server does its steps at places, then the rest; returns how many calls the first made."""
    acts: dict[int, list[Callable[[], object]]] = {}
    for place, step in zip(places, steps, strict=False):
        acts.setdefault(place, []).append(step)
    with interleaved(acts) as calls:
        reader.all()
        count = calls()
    for place in sorted(acts):
        for act in acts[place]:
            act()
    reader.all()
    reader.follower.close()
    return count


def lived(before: str, rotation: str, reading: str, places: list[int]) -> int:
    """A life of a log and its reader, with the steps of a rotation at places; returns how many calls it made."""
    with tempfile.TemporaryDirectory() as folder, closing(Server(Path(folder))) as server:
        for step in BEFORE[before]:
            step(server)
        reader = Reader(server.log, now=4e9)
        if reading != "first":
            reader.all()
            wrote(server)
        if reading == "started again":
            reader.kill()
        count = read_with([partial(step, server) for step in ROTATIONS[rotation]], places, reader)
        assert (reader.lines, reader.reports) == (server.written, []), (before, rotation, reading, places)
    return count


@FEW_SAMPLE_OR_ALL
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("rotation", ["copied", "copied, renamed and compressed", "compressed", "compressed in steps"])
def test_a_rotation_between_any_two_steps_of_the_reader_loses_and_doubles_nothing(
    rotation: str, reading: str, most: int
) -> None:
    for before in ("an empty log", "a log"):
        for place in places_in(lived(before, rotation, reading, []), most):
            lived(before, rotation, reading, [place] * len(ROTATIONS[rotation]))


@FEW_SAMPLE_OR_ALL
def test_steps_of_a_rotation_at_any_places_lose_and_double_nothing(most: int) -> None:
    chance = random.Random(SEED)
    for _ in range(10 * most):
        life = chance.choice(list(BEFORE)), chance.choice(list(ROTATIONS)), chance.choice(READINGS)
        steps = len(ROTATIONS[life[1]])
        lived(*life, sorted(chance.choices(range(1, 120), k=steps)))


def lived_linked(dated: str, link: Link, reading: str, places: list[int]) -> int:
    """Like `lived`, with a log that is a link to a dated file."""
    with tempfile.TemporaryDirectory() as folder, closing(LinkedServer(Path(folder), dated, link)) as server:
        wrote(server)
        reader = Reader(server.log, now=4e9)
        if reading != "first":
            reader.all()
            wrote(server)
        if reading == "started again":
            reader.kill()
        count = read_with([partial(step, server) for step in LINKED], places, reader)
        assert (reader.lines, reader.reports) == (server.written, []), (dated, link, reading, places)
    return count


@FEW_SAMPLE_OR_ALL
@pytest.mark.parametrize("link", [os.link, os.symlink], ids=["rotatelogs -L", "cronolog -S"])
@pytest.mark.parametrize(
    ("dated", "readings"),
    [
        ("access-2024050{}.log", READINGS),
        ("site.2024-05-0{}", READINGS),
        ("2024/0{}.log", ["read on"]),
    ],
)
def test_a_link_that_moves_between_any_two_steps_of_the_reader_loses_and_doubles_nothing(
    dated: str, readings: Sequence[str], link: Link, most: int
) -> None:
    chance = random.Random(SEED)
    for reading in readings:
        count = lived_linked(dated, link, reading, [])
        for place in places_in(count, most):
            lived_linked(dated, link, reading, [place] * len(LINKED))
        for _ in range(most // 3):
            lived_linked(dated, link, reading, sorted(chance.choices(range(1, count + 2), k=len(LINKED))))


def lived_truncated(reading: str, places: list[int]) -> int:
    """Like `lived`, with a log that is truncated without a copy: only its lines may be missing, which is reported."""
    with tempfile.TemporaryDirectory() as folder, closing(Server(Path(folder))) as server:
        wrote(server)
        reader = Reader(server.log, now=4e9)
        if reading != "first":
            reader.all()
            wrote(server)
        if reading == "started again":
            reader.kill()
        was_read, had_lines = len(reader.lines), list[bool]()
        steps: list[Callable[[], object]] = [partial(step, server) for step in TRUNCATED]
        steps.insert(1, lambda: had_lines.append(bool(reader.lines)))
        count = read_with(steps, places, reader)
        missing = [line for line in server.written if line not in reader.lines]
        assert reader.lines == [line for line in server.written if line not in missing], (reading, places)
        assert set(missing) <= set(server.written[was_read:-1]), (reading, places)
        assert any(had_lines) <= len(reader.reports) <= len(had_lines), (reading, places)
    return count


@FEW_SAMPLE_OR_ALL
@pytest.mark.parametrize("reading", READINGS)
def test_a_truncation_between_any_two_steps_of_the_reader_loses_no_other_line_and_is_reported(
    reading: str, most: int
) -> None:
    count = lived_truncated(reading, [])
    for place in places_in(count, 10 * most):
        lived_truncated(reading, [place] * 4)
    chance = random.Random(SEED)
    for _ in range(most):
        lived_truncated(reading, sorted(chance.choices(range(1, count + 2), k=4)))
