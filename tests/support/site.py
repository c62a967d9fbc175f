"""A web site with the snippet of the collector."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

PAGE = """<!doctype html><script defer src="{collector}/tidemark.js"></script>
<a id="more" href="/more">More</a> <button data-tidemark="buy" onclick="event.stopPropagation()"><b>Buy</b></button>
<p>Text</p>"""


@contextmanager
def site(collector: str) -> Iterator[str]:
    """A web site that has the same page at every path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name is http.server's
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(PAGE.format(collector=collector).encode())

        def log_message(self, *_: object) -> None:
            """Keep the tests' output clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()
        thread.join()
