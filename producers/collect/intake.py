"""What becomes of a request with events: the checks in their order, Kafka, and the answer."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from producers.collect.contract import BODY_BYTES
from producers.collect.metrics import Metrics, Outcome
from producers.collect.rates import Rates
from producers.collect.reading import Malformed, Record, Rejected, read
from producers.collect.sink import Sink, Unavailable

ANY_ORIGIN: Final = "*"
BODY_S: Final = 10.0
_RETRY: Final = {"Retry-After": "10"}
_STATUS: Final = {
    Outcome.FOREIGN: HTTPStatus.FORBIDDEN,
    Outcome.TOO_OFTEN: HTTPStatus.TOO_MANY_REQUESTS,
    Outcome.TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    Outcome.TOO_SLOW: HTTPStatus.REQUEST_TIMEOUT,
    Outcome.MALFORMED: HTTPStatus.BAD_REQUEST,
    Outcome.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
}


class _Refused(Exception):
    """The end of a request; its text goes into the answer."""

    def __init__(self, outcome: Outcome, detail: str) -> None:
        super().__init__(detail)
        self.outcome = outcome


@dataclass(frozen=True)
class Intake:
    """Takes requests from pages of `origins`."""

    sink: Sink
    rates: Rates
    origins: Sequence[str]
    metrics: Metrics

    async def take(self, request: Request) -> Response:
        """The answer, which is a good one only if every event that was not rejected is in Kafka."""
        try:
            outcome, response = await self._take(request)
        except _Refused as refused:
            outcome, status = refused.outcome, _STATUS[refused.outcome]
            again = _RETRY if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE) else None
            response = JSONResponse({"error": str(refused)}, status, again)
        self.metrics.requests.labels(outcome).inc()
        return response

    async def _take(self, request: Request) -> tuple[Outcome, Response]:
        if _opted_out(request):
            return Outcome.OPTED_OUT, Response(status_code=HTTPStatus.NO_CONTENT)
        self._check_origin(request)
        self._check_rate(request)
        records, rejected = self._read(await _body(request), request.headers.get("user-agent"))
        if not records:
            raise _Refused(Outcome.MALFORMED, f"event {rejected[0].event}: {rejected[0].detail}")
        await self._send(records)
        return Outcome.ACCEPTED, _answer(len(records), rejected)

    def _check_origin(self, request: Request) -> None:
        origin = request.headers.get("origin")
        # Only browsers tell it. Who is none could tell any.
        if origin is not None and ANY_ORIGIN not in self.origins and origin not in self.origins:
            raise _Refused(Outcome.FOREIGN, f"pages of {origin} are not collected here")

    def _check_rate(self, request: Request) -> None:
        address = request.client.host if request.client else ""
        if not self.rates.admits(address, time.monotonic()):
            raise _Refused(Outcome.TOO_OFTEN, "too many requests")

    def _read(self, body: bytes, user_agent: str | None) -> tuple[list[Record], list[Rejected]]:
        try:
            records, rejected = read(body, time.time_ns() // 1_000_000, user_agent)
        except Malformed as error:
            self.metrics.rejected.labels(error.reason).inc()
            raise _Refused(Outcome.MALFORMED, str(error)) from error
        for one in rejected:
            self.metrics.rejected.labels(one.reason).inc()
        return records, rejected

    async def _send(self, records: Sequence[Record]) -> None:
        try:
            with self.metrics.acknowledgement.time():
                await self.sink.send(records)
        except Unavailable as error:
            self.metrics.unavailable.labels(error.reason).inc()
            raise _Refused(Outcome.UNAVAILABLE, f"Kafka has not acknowledged ({error.reason})") from error
        for record in records:
            self.metrics.events.labels(record.event_type).inc()


def _opted_out(request: Request) -> bool:
    """Do Not Track, or Global Privacy Control."""
    return "1" in (request.headers.get("dnt"), request.headers.get("sec-gpc"))


async def _body(request: Request) -> bytes:
    """All of it, or as soon as it is too large none."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > BODY_BYTES:
                    raise _Refused(Outcome.TOO_LARGE, f"a body of more than {BODY_BYTES} bytes")
    except (TimeoutError, ClientDisconnect) as error:
        raise _Refused(Outcome.TOO_SLOW, f"the body did not end within {BODY_S:g} s") from error
    return bytes(body)


def _answer(accepted: int, rejected: Sequence[Rejected]) -> Response:
    if not rejected:
        return Response(status_code=HTTPStatus.NO_CONTENT)
    return JSONResponse({"accepted": accepted, "rejected": [asdict(one) for one in rejected]})
