"""Warehouses for the page, made without Spark, and the page itself, served as it is served."""

import os
import re
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from email.message import Message
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pyarrow as pa
from pydantic import SecretStr

from demo.children import free_port
from tests.support.topic_writer import value_of
from tests.support.waiting import PATIENCE_S, wait_for
from tests.verify.site import MINUTE, NOON, POLICY, REPORTS, Event, Site
from tidemark.http_server.background import Background
from tidemark.http_server.listening import listen
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.reading.health_client import service_health
from tidemark.pipeline.reading.table_reader import TableReader
from tidemark.pipeline.settings.dashboard_settings import PANELS, Panel
from tidemark.pipeline.settings.model import MetricsSettings
from tidemark.pipeline.tables.appender import Appender
from tidemark.pipeline.tables.schemas import DEAD_LETTERS
from tidemark.pipeline.web.dashboard.dashboard_access import Guard
from tidemark.pipeline.web.dashboard.dashboard_server import page_server
from tidemark.pipeline.web.dashboard.dashboard_site import site
from tidemark.pipeline.web.dashboard.shared_views import READ_AGAIN
from tidemark.schemas import load_schemas

EVIL = "<script>document.title='taken'</script>'\"&/../%00"
"""Name of a user and of a page that an attacker sends."""


def story(folder: Path) -> Site:
    """Ten minutes of a site on three partitions, with what goes wrong: late events, corrections, dead letters.

    Partition 1 has long been silent, and partition 2 never had an event.
    """
    whole = Report("site_traffic", Grid(10 * MINUTE, 10 * MINUTE), 5 * MINUTE, keys=())
    policy = replace(POLICY, strategy=Bounded(MINUTE), idle_timeout_ms=MINUTE, reports=(whole, *REPORTS))
    scene = Site(folder, policy, committed_at=NOON, silent={1: NOON - 60 * MINUTE, 2: None}).open()
    scene.committed_at += 10 * MINUTE
    scene.batch(Event(1), Event(3, "bob", "/a"), Event(3, "bob", "/a"), Event(4, EVIL, EVIL), Event(5, click=True))
    scene.batch(Event(12), Event(13, "bob", "/a"), Event(14, "cid"))
    scene.batch(Event(9, "bob"))
    scene.batch(Event(28, "ann", "/a"))
    scene.batch(Event(2, "dan", "/late"))
    scene.correct()
    scene.committed_at += MINUTE
    return rejected(scene, malformed(scene, b"\0\0\0\0\1broken"), malformed(scene, None), future(scene, EVIL))


def rejected(scene: Site, *letters: dict[str, Any]) -> Site:
    """A batch of records that are all rejected."""
    scene.number += 1
    rows = [{**letter, "batch": scene.number, "offset": scene.position + n} for n, letter in enumerate(letters)]
    data = pa.Table.from_pylist(rows, schema=DEAD_LETTERS.schema)
    Appender(DEAD_LETTERS, str(scene.warehouse)).append(data, scene.number)
    reasons = [letter["reason"] for letter in letters]
    counts = {reason: reasons.count(reason) for reason in ("malformed", "future", "too_late")}
    scene._commit(scene.watermark, len(letters), **counts)
    return scene


def malformed(scene: Site, value: bytes | None) -> dict[str, Any]:
    """A record that is no event."""
    fields = {"reason": "malformed", "detail": "the value is not Avro of its schema", "kafka_timestamp": NOON}
    return _letter(scene, value=value, **fields)


def future(scene: Site, user: str) -> dict[str, Any]:
    """An event of tomorrow."""
    time = NOON + 1440 * MINUTE
    fields = {"reason": "future", "detail": f"{user} is ahead of its time", "kafka_timestamp": NOON, "event_time": time}
    return _letter(scene, value=value_of(user, time), user_id=user, key=user.encode(), **fields)


def _letter(scene: Site, **fields: Any) -> dict[str, Any]:
    fixed = {"topic": "t", "partition": 0, "watermark": scene.watermark}
    return {**dict.fromkeys(DEAD_LETTERS.schema.names), **fixed, **fields}


@dataclass(frozen=True)
class Answer:
    """An answer of the page."""

    status: int
    body: bytes
    headers: Message

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode(errors="replace")

    def words(self) -> str:
        """Its text with single spaces."""
        return " ".join(self.text.split())


@dataclass(frozen=True)
class Served:
    """A page that is served on this machine."""

    address: str

    @property
    def pipeline(self) -> str:
        """The page for people who run the service."""
        return f"{self.address}/pipeline"

    @property
    def place(self) -> tuple[str, int]:
        """Where it listens."""
        host, port = self.address.removeprefix("http://").split(":")
        return host, int(port)

    def get(self, path: str = "/pipeline", body: bytes | None = None, **headers: str) -> Answer:
        """Asks for a path until the tables have been read, and follows no redirect."""

        def answer() -> Answer | None:
            said = self.ask(path, body, **headers)
            return None if "Retry-After" in said.headers or READ_AGAIN in said.text else said

        return wait_for(answer, PATIENCE_S, path)

    def ask(self, path: str = "/pipeline", body: bytes | None = None, **headers: str) -> Answer:
        """Asks for a path once."""
        sent_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.address + path, body, sent_headers)  # noqa: S310 - our own
        try:
            with _OPENER.open(request, timeout=PATIENCE_S) as answer:
                return Answer(answer.status, answer.read(), answer.headers)
        except HTTPError as error:
            with error:
                return Answer(error.code, error.read(), error.headers)


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_Stay, urllib.request.ProxyHandler({}))


@contextmanager
def hanging(warehouse: Path) -> Iterator[None]:
    """A ledger that does not answer: every process that opens it waits for the writer of a pipe."""
    pipe = warehouse / "ledger" / "_delta_log" / "_last_checkpoint"
    os.mkfifo(pipe)
    try:
        yield
    finally:
        writer = os.open(pipe, os.O_RDWR)
        pipe.unlink()
        os.close(writer)


@contextmanager
def serving(
    warehouse: Path | str,
    token: str | None = None,
    port: int = 0,
    reader: TableReader | None = None,
    service_port: int | None = None,
    clock: Callable[[], int] = now_ms,
    panels: Sequence[Panel] = PANELS,
) -> Iterator[Served]:
    """Serves the application of `tidemark dashboard` from a thread; without `service_port` no service runs."""
    beside = partial(service_health, MetricsSettings(port=service_port or free_port()), str(warehouse))
    guard = Guard(SecretStr(token) if token else None)
    server = page_server(site(reader or TableReader(str(warehouse)), guard, load_schemas, beside, clock, panels))
    listening = listen("127.0.0.1", port)
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    with closing(Background(server, listening, "page")):
        wait_for(lambda: server.started, PATIENCE_S, "the page")
        yield Served(address)


def text_of(html: str) -> str:
    """Returns the words of a page, without its tags."""
    return " ".join(re.sub("<[^>]*>", " ", html).split())
