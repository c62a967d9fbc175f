"""Answers as Confluent's registry does, of which Maven Central has no copy."""

import json
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote

NOT_FOUND = (404, {"error_code": 40403, "message": "Schema not found"})


@contextmanager
def imitated_registry(answers: MutableMapping[str, Any], requests: list[str] | None = None) -> Iterator[str]:
    """Yields the address of a registry with these answers by path, with or without its query; others are not found.

    An answer is bytes, what is written as JSON, or a pair of status and answer. `requests` receives the paths.
    """

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(self.path)
            if requests is not None:
                requests.append(path)
            answer = answers.get(path, answers.get(path.partition("?")[0], NOT_FOUND))
            status, content = answer if isinstance(answer, tuple) else (200, answer)
            body = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Prints nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def subject(name: str, versions: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Returns the answers about a subject, whose versions have an answer each."""
    path = f"/subjects/{name}/versions"
    return {path: [*versions], **{f"{path}/{version}": answer for version, answer in versions.items()}}
