"""A store that takes no notice of conditions: a real one, behind a proxy that says that a refused write was done.

The proxy is a process of its own: delta-rs deletes folders without letting other threads of Python run.
"""

import http.client
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from demo.die_with_parent import dying_with_parent

_ROOT = Path(__file__).parents[2]
HOP = {"connection", "content-length", "transfer-encoding"}


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """A client that went away is its own business."""


@contextmanager
def forgetful(endpoint: str) -> Iterator[str]:
    """The address of the proxy before a store."""
    command = [sys.executable, "-m", "tests.object_store.forgetful", urlsplit(endpoint).netloc]
    with subprocess.Popen(dying_with_parent(command), cwd=_ROOT, stdout=subprocess.PIPE, text=True) as proxy:
        assert proxy.stdout
        try:
            yield proxy.stdout.readline().strip()
        finally:
            proxy.terminate()


def main(store: str) -> None:
    """Serves until it is told to end; says its address first."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            connection = http.client.HTTPConnection(store)
            connection.request(self.command, self.path, body, dict(self.headers.items()))
            answer = connection.getresponse()
            content, status = answer.read(), answer.status
            if status in (HTTPStatus.PRECONDITION_FAILED, HTTPStatus.CONFLICT):
                content, status = b"", HTTPStatus.OK
            self.send_response(status)
            if status != answer.status:
                self.send_header("ETag", '"of-a-write"')
            for name, value in answer.getheaders():
                if name.lower() not in HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            connection.close()

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = forward  # noqa: N815 - http.server's names

        def log_message(self, *_: object) -> None:
            """Nothing to say."""

    with _Server(("127.0.0.1", 0), Handler) as server:
        sys.stdout.write(f"http://127.0.0.1:{server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
