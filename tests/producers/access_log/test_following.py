"""A log that is rotated, truncated and compressed under its reader: each line once, in order, whatever happens when."""

import gzip
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.producers.access_log.log_writer import COMPRESS, Reader, Server
from tidemark.producers.access_log.files import files_of, unread_of
from tidemark.producers.access_log.follow import Follower
from tidemark.producers.access_log.open_file import BLOCK_BYTES, LONGEST_LINE
from tidemark.producers.errors import SetUpError

Act = tuple[str, Callable[[Server, Reader], object]]


def acts() -> st.SearchStrategy[list[Act]]:
    """The actions of server, logrotate and reader, in any order."""

    def act(name: str, do: Callable[[Server, Reader], object]) -> st.SearchStrategy[Act]:
        return st.just((name, do))

    def rotate_by_copy(server: Server, reader: Reader, *, is_read_between: bool) -> None:
        server.write()
        server.copy()
        if is_read_between:
            reader.all()
        server.truncate()

    def rotate_by_name(server: Server, reader: Reader, *, is_read_between: bool) -> None:
        server.write(0.5)
        server.rename()
        server.write(0.5)
        if is_read_between:
            reader.all()
        server.reopen()

    lengths = st.integers(0, 200)
    return st.lists(
        st.one_of(
            lengths.map(lambda length: (f"line({length})", lambda server, _: server.line(length))),
            st.floats(0, 1).map(lambda share: (f"write({share})", lambda server, _: server.write(share))),
            act("write", lambda server, _: server.write()),
            st.booleans().map(lambda b: (f"name({b})", lambda s, r: rotate_by_name(s, r, is_read_between=b))),
            st.booleans().map(lambda b: (f"copy({b})", lambda s, r: rotate_by_copy(s, r, is_read_between=b))),
            st.integers(1, 3).map(lambda n: (f"compress({n})", lambda server, _: server.compress(n))),
            act("read", lambda _, reader: reader.chunk()),
            act("read all", lambda _, reader: reader.all()),
            act("kill", lambda _, reader: reader.kill()),
            act("read and kill", lambda _, reader: reader.kill(after_reading=True)),
        ),
        max_size=60,
    )


@given(acts())
def test_each_line_is_read_once_and_in_order(plan: list[Act]) -> None:
    with tempfile.TemporaryDirectory() as folder, closing(Server(Path(folder))) as server:
        reader = Reader(server.log, now=4e9)
        for _, do in plan:
            do(server, reader)
        server.write()
        reader.all()
        reader.follower.close()
        assert reader.follower.at_end
        assert reader.lines == server.written
        assert reader.reports == []


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with closing(Server(tmp_path)) as one:
        yield one


@pytest.fixture
def reader(server: Server) -> Iterator[Reader]:
    one = Reader(server.log, now=4e9)
    yield one
    one.follower.close()


def wrote(server: Server, count: int = 3) -> list[bytes]:
    """Writes `count` more lines."""
    for _ in range(count):
        server.line(20)
    server.write()
    return server.written[-count:]


def test_a_partial_line_waits_for_its_end(server: Server, reader: Reader) -> None:
    server.line(20)
    server.write(0.5)
    assert reader.chunk() is None
    assert reader.follower.at_end
    server.write()
    reader.all()
    assert reader.lines == server.written


def test_history_is_read_first_oldest_first(server: Server, reader: Reader) -> None:
    for _ in range(12):
        wrote(server)
        server.rename()
        server.reopen()
    for number in range(2, 13):
        server.compress(number)
    wrote(server)
    reader.all()
    assert reader.lines == server.written


@pytest.mark.parametrize(
    "names",
    [
        ["access.log.10.gz", "access.log.9", "access.log.1", "access.log"],
        ["access.log-20240501.gz", "access.log-20240502", "access.log-2024050313", "access.log"],
        ["access.log.2024-05-01", "access.log.2024-05-02.gz", "access.log"],
        ["access-20240501.log.gz", "access-20240502.log", "access.log"],
        ["access.1.log", "access.log"],
        ["access.log.1714521600", "access.log.1714608000"],
        ["access.log-20240501", "access.log.1", "access.log"],
        ["access.12.log.gz", "access.3.log", "access.2.log", "access.1.log", "access.log"],
        [
            "access-202404.log",
            "access-2024-05-01.log",
            "access.2024-05-02.log",
            "access-2024.05.03-12.log",
            "access.log",
        ],
        ["access.1714521600.log", "access-1714608000.log", "access.log"],
        ["access.log.4.xz", "access.log.3.bz2", "access.log.2.gz", "access.log.1.zst", "access.log.0", "access.log"],
        # Caddy, FreeBSD's newsyslog, pm2-logrotate, and Logback with more than one file a day.
        ["access-2024-04-30T23-59-59.000.log.gz", "access-2024-05-01T23-59-59.000.log", "access.log"],
        ["access.log.20240430T230000.bz2", "access.log.20240501T000000", "access.log"],
        ["access__2024-05-01_00-00-00.log", "access__2024-05-02_00-00-00.log", "access.log"],
        ["access.2024-05-01.9.log.gz", "access.2024-05-01.10.log.gz", "access.2024-05-02.0.log", "access.log"],
    ],
)
def test_file_names_determine_the_order_whatever_the_times_of_files(tmp_path: Path, names: list[str]) -> None:
    for age, name in enumerate(names):
        (tmp_path / name).write_bytes(b"")
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    unread = ["access.log-01-05-2024", "access.log.1.zip", "access.log.1~", "access.log.bak"]
    others = [*unread, "error.log", "access.logs", "my-access.log", "other_access.log.1"]
    # Logs of ports, sites and customers, to which servers write, too.
    others += [
        "access-443.log",
        "access.443.log",
        "access.80.log",
        "access-1.log",
        "access.8080.log.gz",
        "access-104233.log",
    ]
    for name in others:
        (tmp_path / name).touch()
    assert [file.path.name for file in files_of(tmp_path / "access.log")] == names
    assert unread_of(tmp_path / "access.log") == unread


@pytest.mark.parametrize("is_killed", [False, True])
@pytest.mark.parametrize(
    "dated", ["access-2024050{}.log", "access.log.2024050{}", "site.2024-05-0{}", "2024/05/0{}.log"]
)
@pytest.mark.parametrize("link", [os.link, os.symlink], ids=["rotatelogs -L", "cronolog -S"])
def test_a_log_that_is_a_link_to_a_dated_file_is_read_once(
    tmp_path: Path, link: Callable[[Path, Path], None], dated: str, is_killed: bool
) -> None:
    log = tmp_path / "access.log"
    reader = Reader(log, now=4e9)
    for day in range(1, 4):
        current = tmp_path / dated.format(day)
        current.parent.mkdir(parents=True, exist_ok=True)
        current.write_bytes(b"%d first\n" % day)
        reader.all()
        if day > 1:
            with (tmp_path / dated.format(day - 1)).open("ab") as earlier:
                earlier.write(b"%d late\n" % (day - 1))
        if is_killed and "/" not in dated:
            reader.kill()
        log.unlink(missing_ok=True)
        link(current, log)
        reader.all()
    reader.follower.close()
    assert reader.lines == [b"1 first", b"1 late", b"2 first", b"2 late", b"3 first"]
    assert reader.reports == []


def test_a_rotated_file_with_two_names_is_read_once(server: Server, reader: Reader) -> None:
    wrote(server)
    os.link(server.log, server.folder / "access.log-20240501")
    server.rename()
    server.reopen()
    wrote(server)
    server.rename()
    server.reopen()
    reader.all()
    assert reader.lines == server.written


def test_a_file_with_a_later_date_is_read_once_the_link_leads_to_it(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    (tmp_path / "access-20240501.log").write_bytes(b"1\n")
    (tmp_path / "access-20240502.log").write_bytes(b"2\n")
    os.link(tmp_path / "access-20240501.log", log)
    reader = Reader(log, now=4e9)
    reader.all()
    assert reader.lines == [b"1"]
    log.unlink()
    os.link(tmp_path / "access-20240502.log", log)
    reader.all()
    reader.follower.close()
    assert (reader.lines, reader.reports) == ([b"1", b"2"], [])


@pytest.mark.parametrize("target", ["gone/site-20240502.log", "site-20240502.log"])
def test_a_link_that_leads_nowhere_and_others_of_the_kind_are_no_error(tmp_path: Path, target: str) -> None:
    log, other = tmp_path / "access.log", tmp_path / "other"
    other.symlink_to("nowhere")
    (tmp_path / "site-20240501.log").write_bytes(b"1\n")
    os.link(tmp_path / "site-20240501.log", log)
    reader = Reader(log, now=4e9)
    reader.all()
    log.unlink()
    log.symlink_to(target)
    reader.all()
    reader.kill()
    reader.all()
    reader.follower.close()
    assert (reader.lines, reader.reports) == ([b"1"], [])


def test_history_of_a_link_with_a_name_of_its_own_is_that_of_its_dated_files(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for day in (1, 2, 3):
        (tmp_path / "logs" / f"site.2024.05.0{day}").write_bytes(b"%d\n" % day)
    (tmp_path / "logs" / "site.2024.05.01").rename(tmp_path / "logs" / "other.2024.05.01")
    (tmp_path / "logs" / "site.2024.05.01.xz").write_bytes(COMPRESS[".xz"](b"1\n"))
    (tmp_path / "current").symlink_to("logs/site.2024.05.03")
    reader = Reader(tmp_path / "current", now=4e9)
    reader.all()
    reader.follower.close()
    assert reader.lines == [b"1", b"2", b"3"]


def test_a_link_whose_dated_file_was_compressed_waits_for_the_next_one(tmp_path: Path) -> None:
    log, first, second = (tmp_path / name for name in ("access.log", "access-20240501.log", "access-20240502.log"))
    first.write_bytes(b"1\n")
    log.symlink_to(first)
    reader = Reader(log, now=4e9)
    reader.all()
    (tmp_path / "access-20240501.log.gz").write_bytes(gzip.compress(b"1\n"))
    first.unlink()
    reader.all()
    reader.kill()
    reader.all()
    second.write_bytes(b"2\n")
    log.unlink()
    log.symlink_to(second)
    reader.all()
    reader.follower.close()
    assert (reader.lines, reader.reports) == ([b"1", b"2"], [])


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_file_that_is_being_compressed_is_read_once(server: Server, reader: Reader, suffix: str) -> None:
    wrote(server)
    server.rename()
    server.reopen()
    wrote(server)
    server.begin_compression(1, suffix)
    reader.all()
    assert reader.lines == server.written


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_history_of_many_blocks_is_read_from_any_position(server: Server, suffix: str) -> None:
    wrote(server, 100)
    server.rename()
    server.reopen()
    server.compress(1, suffix)
    wrote(server)
    reader = Reader(server.log, now=4e9)
    for _ in range(3):
        reader.chunk()
        reader.kill(after_reading=True)
    reader.all()
    reader.follower.close()
    assert reader.lines == server.written


def test_a_copy_is_not_read_again_while_the_log_is_not_yet_truncated(server: Server, reader: Reader) -> None:
    wrote(server)
    server.copy()
    reader.all()
    assert reader.lines == server.written
    wrote(server)
    reader.all()
    assert reader.lines == server.written


def test_lines_between_the_last_read_and_the_truncation_are_read_from_the_copy(server: Server, reader: Reader) -> None:
    wrote(server)
    reader.all()
    wrote(server)
    server.copy()
    server.truncate()
    wrote(server, 30)  # longer than before, so its size proves nothing
    reader.all()
    assert reader.lines == server.written


def test_lines_written_to_an_empty_log_before_its_truncation_are_read_from_the_copy(
    server: Server, reader: Reader
) -> None:
    assert reader.chunk() is None
    wrote(server)
    server.copy()
    server.truncate()
    wrote(server)
    reader.all()
    assert reader.lines == server.written


def test_the_next_file_waits_until_the_rotated_one_has_been_left_alone(server: Server) -> None:
    first = wrote(server)
    changed = server.log.stat().st_mtime
    reader = Reader(server.log, settle_s=5, now=changed + 4)
    server.rename()
    server.reopen()
    second = wrote(server)
    reader.all()
    assert reader.lines == first
    assert not reader.follower.at_end
    with server.rotated(1).open("ab") as worker:  # that has not heard of the rotation
        worker.write(b"late\n")
    os.utime(server.rotated(1), (changed + 4, changed + 4))
    reader.now = changed + 8
    reader.all()
    assert reader.lines == [*first, b"late"]
    reader.now = changed + 9
    reader.all()
    assert reader.lines == [*first, b"late", *second]
    assert reader.follower.at_end
    reader.follower.close()


def test_a_rotated_file_is_read_to_its_end_though_it_was_removed(server: Server, reader: Reader) -> None:
    wrote(server)
    reader.all()
    wrote(server)
    server.rename()
    server.reopen()
    server.rotated(1).unlink()
    wrote(server)
    reader.all()
    assert reader.lines == server.written
    assert reader.reports == []


def test_the_rest_of_a_file_that_ends_without_a_line_end_is_a_line(server: Server, reader: Reader) -> None:
    server.log.write_bytes(b"first\ncut o")
    server.rename()
    server.reopen()
    server.log.write_bytes(b"next\n")
    reader.all()
    reader.kill()
    reader.all()
    assert reader.lines == [b"first", b"cut o", b"next"]


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_truncated_log_without_a_copy_is_reported_and_read_from_its_start(
    server: Server, reader: Reader, is_killed: bool
) -> None:
    wrote(server)
    server.rename()
    server.reopen()
    wrote(server)
    reader.all()
    server.truncate()
    if is_killed:
        reader.kill()
    wrote(server)
    reader.all()
    assert reader.lines == server.written
    assert len(reader.reports) == 1
    assert "access.log that was read up to byte" in reader.reports[0]


def test_files_that_were_removed_before_they_were_read_are_reported_and_the_rest_is_read(
    server: Server, reader: Reader
) -> None:
    first = wrote(server)
    reader.all()
    for _ in range(3):
        server.rename()
        server.reopen()
        kept = wrote(server)
    server.rotated(3).unlink()
    server.rotated(2).unlink()
    kept = [*server.rotated(1).read_bytes().splitlines(), *kept]
    reader.kill()
    reader.all()
    assert reader.lines == [*first, *kept]
    assert len(reader.reports) == 1


def test_a_line_that_never_ends_fills_no_memory_and_is_passed_when_it_does(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_bytes(b"short\n" + b"x" * (BLOCK_BYTES + LONGEST_LINE))
    follower = Follower(log, None, settle_s=0, clock=lambda: 0, report=print)
    first = follower.read()
    assert first is not None
    assert [line.text for line in first.lines] == [b"short"]
    assert follower.read() is None
    with log.open("ab") as file:
        file.write(b"x\nshort again\n")
    second, third = follower.read(), follower.read()
    follower.close()
    assert second is not None
    assert third is not None
    assert [len(line.text) for line in second.lines] == [LONGEST_LINE + 1]
    assert [line.text for line in third.lines] == [b"short again"]


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("is_cut", [False, True])
def test_a_broken_compressed_file_is_a_set_up_error(tmp_path: Path, suffix: str, *, is_cut: bool) -> None:
    content = COMPRESS[suffix](os.urandom(5_000))
    (tmp_path / f"access.log.1{suffix}").write_bytes(content[:3_000] if is_cut else os.urandom(3_000))
    reader = Reader(tmp_path / "access.log")
    with pytest.raises(SetUpError, match=rf"access.log.1{suffix} is broken \(.*\); mend or remove it"):
        reader.all()
    reader.follower.close()
