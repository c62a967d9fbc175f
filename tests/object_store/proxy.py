"""Proxies before a real store, for what a store may do wrong.

A proxy is a process of its own: delta-rs deletes folders without letting other threads of Python run.
"""

import http.client
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Timer
from urllib.parse import urlsplit

from demo.die_with_parent import dying_with_parent

_ROOT = Path(__file__).parents[2]
_HOP = {"connection", "content-length", "transfer-encoding"}
_REFUSED = (HTTPStatus.PRECONDITION_FAILED, HTTPStatus.CONFLICT)
_HELD_S = 30.0
_LATE_S = 2.0
"""A request whose connection was closed is carried out after up to this time."""


@dataclass(frozen=True)
class Answer:
    """An answer of the store."""

    status: int
    headers: list[tuple[str, str]]
    content: bytes


@dataclass(frozen=True)
class Request:
    """A request, and how the store carries it out."""

    method: str
    path: str
    perform: Callable[[], Answer]


Behaviour = Callable[[Request], Answer | None]
"""Answers a request; None closes the connection without an answer."""


def forgetful(request: Request) -> Answer:
    """Takes no notice of conditions: says that a write was done that the store has refused."""
    answer = request.perform()
    if answer.status not in _REFUSED:
        return answer
    return replace(answer, status=HTTPStatus.OK, headers=[*answer.headers, ("ETag", '"of-a-write"')], content=b"")


class Unruly:
    """Holds, delays, refuses, closes and carries out later what a random number says, of the writes to tables' logs."""

    def __init__(self, seed: int, share: float = 0.15) -> None:
        self._random = random.Random(seed)
        self._share = share

    def __call__(self, request: Request) -> Answer | None:
        is_commit = request.method == "PUT" and "/_delta_log/" in request.path and "/_probe-" not in request.path
        if not is_commit or self._random.random() > self._share:
            return request.perform()
        return self._random.choice([self._hold, self._refuse, self._lose, self._perform_later])(request)

    def _hold(self, request: Request) -> Answer:
        time.sleep(self._random.uniform(0, _LATE_S))
        return request.perform()

    def _refuse(self, _: Request) -> Answer:
        return Answer(HTTPStatus.SERVICE_UNAVAILABLE, [], b"<Error><Code>SlowDown</Code></Error>")

    def _lose(self, request: Request) -> None:
        request.perform()

    def _perform_later(self, request: Request) -> None:
        Timer(self._random.uniform(0, _LATE_S), request.perform).start()


class Gate:
    """Counts requests that other writers can affect, and holds one of them until it is released.

    It is answered then, or its answer is lost.

    Told by requests to `/_gate/…`: `arm/AT/FAULT`, `reached`, `open`, `count`.
    """

    def __init__(self) -> None:
        self._at, self._is_lost, self._count = -1, False, 0
        self._has_reached, self._is_open, self._lock = Event(), Event(), Lock()

    def __call__(self, request: Request) -> Answer | None:
        if request.path.startswith("/_gate/"):
            return Answer(HTTPStatus.OK, [], self._obey(*request.path.split("/")[2:]).encode())
        # Requests for files that are never rewritten are left out: reading them now or later is the same.
        is_point = request.method != "GET" or "list-type=" in request.path or "_last_checkpoint" in request.path
        with self._lock:
            is_held = is_point and self._count == self._at
            self._count += is_point
        if is_held:
            self._has_reached.set()
            self._is_open.wait(_HELD_S)
        answer = request.perform()
        return None if is_held and self._is_lost else answer

    def _obey(self, word: str, at: str = "", fault: str = "") -> str:
        if word == "arm":
            self._at, self._is_lost, self._count = int(at), fault == "lost", 0
            self._has_reached.clear()
            self._is_open.clear()
        elif word == "open":
            self._is_open.set()
        return str(self._count if word == "count" else int(self._has_reached.is_set()))


@contextmanager
def proxy(endpoint: str, how: str) -> Iterator[str]:
    """Yields the address of a proxy before a store: `forgetful`, `gate`, or `unruly-` and a seed."""
    command = [sys.executable, "-m", "tests.object_store.proxy", urlsplit(endpoint).netloc, how]
    with subprocess.Popen(dying_with_parent(command), cwd=_ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """A client that went away is its own business."""


def main(store: str, how: str) -> None:
    """Prints its address, and serves until it is ended."""
    known: dict[str, Behaviour] = {"forgetful": forgetful, "gate": Gate()}
    behaviour = known.get(how) or Unruly(int(how.removeprefix("unruly-")))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            method, path, headers = self.command, self.path, dict(self.headers.items())
            answer = behaviour(Request(method, path, lambda: _perform(store, method, path, body, headers)))
            if answer is None:
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.headers:
                if name.lower() not in _HOP:
                    self.send_header(name, value)
            # The answer to HEAD has the length of what it leaves out.
            told = dict(answer.headers).get("Content-Length", "0") if method == "HEAD" else str(len(answer.content))
            self.send_header("Content-Length", told)
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = forward  # noqa: N815 - http.server's names

        def log_message(self, *_: object) -> None:
            """Nothing to say."""

    with _Server(("127.0.0.1", 0), Handler) as server:
        sys.stdout.write(f"http://127.0.0.1:{server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()


def _perform(store: str, method: str, path: str, body: bytes, headers: dict[str, str]) -> Answer:
    connection = http.client.HTTPConnection(store)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return Answer(answer.status, answer.getheaders(), answer.read())
    finally:
        connection.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
