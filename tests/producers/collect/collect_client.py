"""Requests of browsers, and a client that sends them."""

import http.client
import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette

from demo.children import free_port
from tests.support.processes import Process, producers
from tests.support.waiting import PATIENCE_S, wait_for
from tidemark.producers.collect.server import listener, server

AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
NOW_MS = 1_760_000_000_000


def event(**changed: object) -> dict[str, object]:
    """Returns a well-formed event with `changed` fields; a value of None removes the field."""
    fields: dict[str, object] = {
        "event_id": uuid.uuid4().hex,
        "event_type": "visit",
        "user_id": "ann",
        "event_time": NOW_MS,
        "page_url": "https://shop.example/shoes",
        **changed,
    }
    return {name: value for name, value in fields.items() if value is not None}


def request_body(*events: object, sent_at: object = NOW_MS) -> bytes:
    """Returns the body of a request with these events."""
    return json.dumps({"sent_at": sent_at, "events": list(events)}).encode()


@dataclass(frozen=True)
class Answer:
    """The response of a server."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Asker:
    """Asks a server, each time on a connection of its own."""

    address: str
    patience_s: float = PATIENCE_S

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Returns the response to a request; `_` in the name of a header becomes `-`."""
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=self.patience_s)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def post(self, body: Any, **headers: str) -> Answer:
        """The answer to a request with events, sent as a browser's `sendBeacon` sends a text."""
        defaults = {"content_type": "text/plain;charset=UTF-8", "user_agent": AGENT}
        return self("POST", "/events", body, **{**defaults, **headers})

    def metric(self, name: str) -> float:
        """Returns a value of the metrics page, 0 if it is missing."""
        lines = self("GET", "/metrics").body.decode().splitlines()
        return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name} ")), 0)


@contextmanager
def served(app: Starlette, proxies: tuple[str, ...] = ()) -> Iterator[Asker]:
    """Serves an application by the real server, in a thread of this process."""
    listening = listener("127.0.0.1", 0)
    serving = server(app, proxies, 1_000)
    thread = Thread(target=serving.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        wait_for(lambda: serving.started, PATIENCE_S, "the server's start")
        yield Asker(f"http://127.0.0.1:{listening.getsockname()[1]}")
    finally:
        serving.should_exit = True
        thread.join()
        listening.close()


@contextmanager
def collecting(
    bootstrap_servers: str, topic: str, log: Path, *options: str, port: int | None = None
) -> Iterator[tuple[Process, Asker]]:
    """A collector as a process of its own."""
    port = port or free_port()
    where = ("--bootstrap-servers", bootstrap_servers, "--topic", topic, "--port", str(port))
    with producers(log, "collect", *where, *options) as process:
        wait_for(lambda: "collecting for" in process.said or not process.alive, PATIENCE_S, "its start")
        assert process.alive, process.said
        yield process, Asker(f"http://127.0.0.1:{port}")
