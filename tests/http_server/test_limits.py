"""Which connection is ended when there are too many, and which lines a log drops."""

import logging
from dataclasses import dataclass

from tidemark.http_server.limits import expendable
from tidemark.http_server.log_rate_limit import LogRateLimit


@dataclass(frozen=True)
class Line:
    """A connection."""

    address: str
    waits_for_client: bool = True


FLOOD = [Line("203.0.113.1") for _ in range(3)]
GUEST, ANSWERED = Line("192.0.2.1"), Line("203.0.113.1", waits_for_client=False)


def test_a_flood_ends_its_own_oldest_connection() -> None:
    assert expendable([GUEST, ANSWERED, *FLOOD, GUEST]) is FLOOD[0]


def test_what_is_being_answered_is_not_ended() -> None:
    assert expendable([ANSWERED, GUEST, ANSWERED]) is GUEST
    assert expendable([ANSWERED]) is None
    assert expendable(list[Line]()) is None


def test_a_log_passes_some_lines_in_a_period_and_says_how_many_it_dropped() -> None:
    now = [0.0]
    log_rate_limit = LogRateLimit(2, 60, lambda: now[0])

    def passed(level: int = logging.ERROR) -> str | None:
        record = logging.LogRecord("server", level, "", 0, "bad %s", ("request",), None)
        return record.getMessage() if log_rate_limit.filter(record) else None

    assert [passed() for _ in range(4)] == ["bad request", "bad request", None, None]
    assert passed(logging.CRITICAL) == "bad request"
    now[0] = 60
    assert passed() == "bad request (2 more lines dropped)"
    now[0] = 120
    assert passed() == "bad request"
