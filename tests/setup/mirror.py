"""A Maven mirror of the tests' own: a real HTTP server whose moods are set by the test."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tidemark.pipeline.runtime.jars import Jar


@dataclass
class Mirror:
    """A mirror that serves files, records requests, and fails on demand."""

    address: str
    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    """Whether a Range header is honoured."""
    cuts_bytes: list[int] = field(default_factory=list)
    """For each answer to come, after how many bytes its connection is cut."""
    statuses: list[int] = field(default_factory=list)
    """For each answer to come, the status it fails with."""
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    """Path and Range of each request, in order."""
    answers: threading.Event = field(default_factory=threading.Event)
    """While it is not set, requests wait."""

    def publish(self, coordinate: str, content: bytes) -> Jar:
        """Serve a jar; returns its line of the lock."""
        jar = Jar(coordinate, hashlib.sha256(content).hexdigest())
        self.files[jar.url("")] = content
        return jar


@contextmanager
def serving() -> Iterator[Mirror]:
    """Serve on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name is http.server's
            answer(self, mirror)

        def log_message(self, *_: object) -> None:
            """Keep the tests' output clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        mirror = Mirror(f"http://127.0.0.1:{server.server_port}")
        mirror.answers.set()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield mirror
        server.shutdown()
        thread.join()


def answer(handler: BaseHTTPRequestHandler, mirror: Mirror) -> None:
    """Answer one GET as a repository would, less what the mirror's mood takes away."""
    asked = handler.headers["Range"]
    mirror.answers.wait()
    mirror.requests.append((handler.path, asked))
    content = mirror.files.get(handler.path)
    if mirror.statuses or content is None:
        return handler.send_error(mirror.statuses.pop(0) if mirror.statuses else 404)
    start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and mirror.ranges else 0
    if start >= len(content) > 0:
        return handler.send_error(416)
    handler.send_response(206 if start else 200)
    handler.send_header("Content-Length", str(len(content) - start))
    handler.end_headers()
    end = start + mirror.cuts_bytes.pop(0) if mirror.cuts_bytes else None
    handler.wfile.write(content[start:end])
    return None
