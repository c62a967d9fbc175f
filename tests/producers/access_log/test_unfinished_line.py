"""The last line of a rotated file that a process of the server has not finished yet."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.producers.access_log.log_writer import Reader, Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with closing(Server(tmp_path)) as server:
        yield server


def test_an_unfinished_line_of_a_rotated_file_waits_until_the_file_has_settled(server: Server) -> None:
    server.log.write_bytes(b"first\nla")
    changed = server.log.stat().st_mtime
    reader = Reader(server.log, settle_s=5, now=changed + 4)
    server.rename()
    server.reopen()
    server.say(b"next")
    server.write()
    reader.all()
    assert reader.lines == [b"first"]
    with server.rotated(1).open("ab") as worker:  # that has not heard of the rotation
        worker.write(b"te\n")
    os.utime(server.rotated(1), (changed + 4, changed + 4))
    reader.now = changed + 9
    reader.all()
    assert reader.lines == [b"first", b"late", b"next"]
    reader.follower.close()
