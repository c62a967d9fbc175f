"""Access: for this machine by its own names, or with the token; no answer contains the token."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.dashboard.scene import Served, serving
from tests.support.flood import hostile
from tests.support.waiting import PATIENCE_S, wait_for
from tests.verify import site
from tidemark.pipeline.cli import main
from tidemark.pipeline.reading.table_reader import TableReader
from tidemark.pipeline.settings.dashboard_settings import DashboardSettings
from tidemark.pipeline.web.dashboard.dashboard_access import Guard

pytestmark = pytest.mark.slow
TOKEN = "correct-horse-battery"


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    return file


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "tidemark.example", ""])  # noqa: S104 - which is refused
def test_other_machines_are_not_listened_to_without_a_token(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dashboard", "--warehouse", "/nowhere", f"--dashboard.host={host}"]) == 2
    error = capsys.readouterr().err
    assert "is reached from other machines, and the page shows user activity: set TIDEMARK_DASHBOARD__TOKEN" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_local_hosts_need_no_token(host: str) -> None:
    assert not Guard.from_settings(DashboardSettings(host=host)).has_token


def test_a_token_is_no_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dashboard", "--warehouse", "/nowhere", f"--dashboard.token={TOKEN}"]) == 2
    error = capsys.readouterr().err
    assert "other users of this machine see the arguments of a process" in error
    assert TOKEN not in error


def test_the_error_for_a_short_token_does_not_contain_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEMARK_DASHBOARD__TOKEN", "hunter2bqkz")
    assert main(["dashboard", "--warehouse", "/nowhere"]) == 2
    error = capsys.readouterr().err
    assert "has 11 characters: use at least 16" in error
    assert "hunter2bqkz" not in error


def test_a_file_may_have_the_token(token_file: Path) -> None:
    guard = Guard.from_settings(DashboardSettings(host="0.0.0.0", token_file=token_file))  # noqa: S104 - with a token
    assert guard.is_token(TOKEN)
    assert not guard.is_token(f"{TOKEN}\n")


def test_a_missing_token_file_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dashboard", "--warehouse", "/nowhere", f"--dashboard.token-file={tmp_path / 'none'}"]) == 2
    assert "dashboard.token_file" in capsys.readouterr().err


def test_without_a_warehouse_setting_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dashboard"]) == 2
    assert "warehouse must be set" in capsys.readouterr().err


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("locked") / "warehouse"
    return Path(site.Site(folder, site.PAGE_VIEWS_ALONE).open().batch(site.Event(1)).warehouse)


@pytest.fixture(scope="module")
def guarded(locked: Path) -> Iterator[Served]:
    """Its page, which asks for the token."""
    with serving(locked, TOKEN) as page:
        yield page


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Cookie": "tidemark_dashboard=wrong"}])
def test_without_the_token_only_the_login_form_is_served(locked: Path, headers: dict[str, str]) -> None:
    with serving(locked, TOKEN) as page:
        for path in ("/", "/reports/page_views", "/users?id=ann", "/dead-letters", "/nothing"):
            answer = page.get(path, None, **headers)
            assert answer.status == 401
            assert "The token of this dashboard" in answer.text
            assert "ann" not in answer.text.replace("cannot", "")
            assert str(locked) not in answer.text
        assert page.get("/healthz").text == "ok\n"
        assert page.get("/metrics").status == 200
        assert page.get("/static/style.css").status == 200


@pytest.mark.parametrize(
    "host", ["a/login?", "a/healthz?", "a/healthz#", "localhost/static/style.css?", "/login", "[", "@/login"]
)
def test_no_header_opens_a_page(guarded: Served, host: str) -> None:
    for path in ("/", "/users?id=ann", "/reports/page_views", "/dead-letters", "/nothing"):
        said = raw(
            guarded, f"GET {path} HTTP/1.1\r\nHost: {host}\r\nX-Forwarded-Host: localhost/login\r\n\r\n".encode()
        )
        assert said.split()[1] in (b"401", b"400"), host


@pytest.mark.parametrize(
    "path",
    [
        "/healthz/",
        "/healthzx",
        "/metrics/",
        "/metricsx",
        "/login/",
        "/loginx",
        "/static/",
        "/static/nothing",
        "/static/../users",
        "/static/%2e%2e/",
    ],
)
def test_only_exact_paths_are_open(guarded: Served, path: str) -> None:
    assert raw(guarded, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()).split()[1] == b"401"


def test_a_login_is_read_up_to_a_limit_of_bytes_and_seconds(locked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000000\r\n\r\ntoken="
    with serving(locked, TOKEN) as page:
        assert raw(page, begin + b"x" * 5_000).split()[1] == b"413"
        monkeypatch.setattr("tidemark.pipeline.web.dashboard.dashboard_pages._LOGIN_S", 0.2)
        assert raw(page, begin).split()[1] == b"408"


def test_health_and_pages_are_answered_while_every_reading_waits(locked: Path) -> None:
    reader = TableReader(str(locked))
    with ExitStack() as stack, serving(locked, reader=reader) as page:
        with reader._lock:  # a page that takes long
            lines = [stack.enter_context(socket.create_connection(page.place, timeout=PATIENCE_S)) for _ in range(60)]
            for number, line in enumerate(lines):
                line.sendall(f"GET /users?id={number} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert healthy(page)
            assert {line.recv(12) for line in lines} == {b"HTTP/1.1 200"}, "they say that they are loading"
        assert page.get().status == 200


@pytest.mark.parametrize("path", ["/", "/pipeline", "/dead-letters"])
def test_a_page_waits_a_bounded_time_for_another(locked: Path, path: str) -> None:
    reader = TableReader(str(locked), patience_s=0.2)
    with serving(locked, reader=reader) as page, reader._lock:  # another page waits for a store that hangs
        answer = page.get(path)
    assert answer.status == 503
    assert "another request has been waiting for the store for more than 0.2 s" in answer.text


def test_hostile_requests_are_answered_or_ended_and_open_nothing(
    locked: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(locked, TOKEN) as page:
        for said in hostile(3_400):
            answer = raw(page, said, ends=True)
            assert answer[9:12] in (b"", b"200", b"400", b"401", b"404", b"405", b"408", b"413"), said
            assert b"Watermark" not in answer
            assert b"Traceback" not in answer
        assert healthy(page)
    assert len(caplog.records) < 30


def raw(page: Served, said: bytes, *, ends: bool = False) -> bytes:
    """The begin of the answer to what is said as it is; `ends`: nothing more is said, and all of it is read."""
    with socket.create_connection(page.place, timeout=PATIENCE_S) as line:
        line.sendall(said)
        if ends:
            line.shutdown(socket.SHUT_WR)
        answer = b""
        with suppress(ConnectionError):
            while (ends or not answer) and (more := line.recv(65_536)):
                answer += more
        return answer


def test_the_token_is_entered_once_and_the_browser_stores_only_a_hash(locked: Path) -> None:
    with serving(locked, TOKEN) as page:
        assert page.get("/login", b"token=wrong").status == 401
        welcomed = page.get("/login", f"token={TOKEN}".encode())
        assert (welcomed.status, welcomed.headers["Location"]) == (303, "/")
        cookie = welcomed.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert TOKEN not in cookie
        kept = re.match(r"[^;]+", cookie)
        assert kept is not None
        assert "Watermark" in page.get("/pipeline", Cookie=kept[0]).text
        assert "Watermark" in page.get("/pipeline", Authorization=f"Bearer {TOKEN}").text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:9478", ""])
def test_a_foreign_name_that_points_here_is_refused(locked: Path, host: str) -> None:
    with serving(locked) as page:
        for path in ("/", "/healthz", "/metrics"):
            assert page.get(path, Host=host).status in (400, 403)


@pytest.mark.parametrize("host", ["localhost:9478", "LOCALHOST", "[::1]:9478", "127.0.0.1"])
def test_names_of_this_machine_are_not(locked: Path, host: str) -> None:
    with serving(locked) as page:
        assert page.get("/", Host=host).status == 200


def test_the_health_endpoint_discloses_nothing_of_the_tables(tmp_path: Path) -> None:
    with serving(tmp_path) as page:
        assert healthy(page)
        (tmp_path / "ledger" / "_delta_log").mkdir(parents=True)
        (tmp_path / "ledger" / "_delta_log" / "00000000000000000000.json").write_text("nothing")
        wait_for(lambda: not healthy(page), PATIENCE_S, "the failing store")
        answer = page.get("/healthz")
        assert (answer.status, answer.text) == (503, "the store of the tables does not answer\n")


def healthy(page: Served) -> bool:
    return page.get("/healthz").status == 200
