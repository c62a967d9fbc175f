"""Handles a request with events: checks in order, sends to Kafka, answers."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tidemark.http_server.body import TooLarge, TooSlow, read_body
from tidemark.producers.collect.contract import BODY_BYTES, Event
from tidemark.producers.collect.rates import Rates
from tidemark.producers.collect.reading import MAX_AGE_MS, MalformedBody, Objection, Record, RejectedEvent, read
from tidemark.producers.collect.request_client import address_of, agent_of, opted_out
from tidemark.producers.collect.request_metrics import Metrics, RequestOutcome
from tidemark.producers.collect.sink import KafkaSink, Unavailable
from tidemark.producers.collect.variety import Variety
from tidemark.producers.robots import is_robot

ANY_ORIGIN: Final = "*"
BODY_S: Final = 10.0
EVENT_BYTES: Final = 5_000
"""A body is charged for at least one event per this many bytes, so that a small charge buys little work."""
_RETRY: Final = {"Retry-After": "10"}
_STATUS: Final = {
    RequestOutcome.FOREIGN: HTTPStatus.FORBIDDEN,
    RequestOutcome.NO_AGENT: HTTPStatus.FORBIDDEN,
    RequestOutcome.ROBOT: HTTPStatus.FORBIDDEN,
    RequestOutcome.TOO_OFTEN: HTTPStatus.TOO_MANY_REQUESTS,
    RequestOutcome.TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    RequestOutcome.TOO_SLOW: HTTPStatus.REQUEST_TIMEOUT,
    RequestOutcome.MALFORMED: HTTPStatus.BAD_REQUEST,
    RequestOutcome.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
}


class _RequestRejected(Exception):
    """The request is rejected; the text is sent in the response."""

    def __init__(self, outcome: RequestOutcome, detail: str) -> None:
        super().__init__(detail)
        self.outcome = outcome


@dataclass(frozen=True)
class Intake:
    """Accepts requests from pages of `origins`."""

    sink: KafkaSink
    rates: Rates
    """Limits the events per second of an address."""
    origins: Sequence[str]
    metrics: Metrics
    users: Variety = field(default_factory=lambda: Variety(0))
    pages: Variety = field(default_factory=lambda: Variety(0))
    max_age_ms: int = MAX_AGE_MS
    keeps_robots: bool = False

    async def take(self, request: Request) -> Response:
        """Returns the response; its status is 200 or 204 only if every event that was not rejected is in Kafka."""
        try:
            outcome, response = await self._take(request)
        except _RequestRejected as rejection:
            outcome, status = rejection.outcome, _STATUS[rejection.outcome]
            headers = _RETRY if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE) else None
            response = JSONResponse({"error": str(rejection)}, status, headers)
        self.metrics.requests.labels(outcome).inc()
        return response

    async def _take(self, request: Request) -> tuple[RequestOutcome, Response]:
        if opted_out(request):
            return RequestOutcome.OPTED_OUT, Response(status_code=HTTPStatus.NO_CONTENT)
        self._check_origin(request)
        self._charge(request, 1)
        self._check_agent(agent_of(request))
        body = await _body(request)
        records, rejected = self._read(body, request)
        # `least=0` admits the request despite a debt of concurrent requests; one event was charged above.
        self._charge(request, max(len(records) + len(rejected) - 1, len(body) // EVENT_BYTES), least=0)
        if not records:
            raise _RequestRejected(RequestOutcome.MALFORMED, f"event {rejected[0].event}: {rejected[0].detail}")
        await self._send(records)
        return RequestOutcome.ACCEPTED, _answer(len(records), rejected)

    def _check_origin(self, request: Request) -> None:
        origin = request.headers.get("origin")
        # Only browsers send it; other clients could send any origin.
        if origin is not None and ANY_ORIGIN not in self.origins and origin not in self.origins:
            raise _RequestRejected(RequestOutcome.FOREIGN, f"pages of {origin} are not collected here")

    def _check_agent(self, agent: str) -> None:
        if self.keeps_robots:
            return
        if not agent:
            raise _RequestRejected(RequestOutcome.NO_AGENT, "requests without User-Agent are not collected here")
        if is_robot(agent):
            raise _RequestRejected(RequestOutcome.ROBOT, "the User-Agent is a robot's; robots are not collected here")

    def _charge(self, request: Request, events: int, least: float = 1) -> None:
        if not self.rates.take(address_of(request), events, time.monotonic(), least):
            raise _RequestRejected(RequestOutcome.TOO_OFTEN, "too many events")

    def _read(self, body: bytes, request: Request) -> tuple[list[Record], list[RejectedEvent]]:
        received_ms, agent = time.time_ns() // 1_000_000, agent_of(request) or None
        try:
            records, rejected = read(
                body, received_ms, agent, self.max_age_ms, partial(self._judge, address_of(request))
            )
        except MalformedBody as error:
            self._charge(request, len(body) // EVENT_BYTES, least=0)
            self.metrics.rejected.labels(error.reason).inc()
            raise _RequestRejected(RequestOutcome.MALFORMED, str(error)) from error
        for event in rejected:
            self.metrics.rejected.labels(event.reason).inc()
        return records, rejected

    def _judge(self, address: str, event: Event) -> Objection | None:
        now_s = time.monotonic()
        if not self.users.admits(address, event.user_id, now_s):
            return Objection("too_many_users", "user_id: too many new users from this address within an hour")
        if not self.pages.admits(address, event.page_url, now_s):
            return Objection("too_many_pages", "page_url: too many new pages from this address within an hour")
        return None

    async def _send(self, records: Sequence[Record]) -> None:
        try:
            with self.metrics.acknowledgement.time():
                await self.sink.send(records)
        except Unavailable as error:
            self.metrics.unavailable.labels(error.reason).inc()
            raise _RequestRejected(
                RequestOutcome.UNAVAILABLE, f"Kafka has not acknowledged ({error.reason})"
            ) from error
        for record in records:
            self.metrics.events.labels(record.event_type).inc()


async def _body(request: Request) -> bytes:
    try:
        return await read_body(request, BODY_BYTES, BODY_S)
    except TooLarge as error:
        raise _RequestRejected(RequestOutcome.TOO_LARGE, str(error)) from error
    except TooSlow as error:
        raise _RequestRejected(RequestOutcome.TOO_SLOW, str(error)) from error


def _answer(accepted: int, rejected: Sequence[RejectedEvent]) -> Response:
    if not rejected:
        return Response(status_code=HTTPStatus.NO_CONTENT)
    return JSONResponse({"accepted": accepted, "rejected": [asdict(event) for event in rejected]})
