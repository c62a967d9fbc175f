"""The page of metrics of a process that serves nothing else by HTTP."""

from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry, Counter

from demo.children import free_port
from tests.support.waiting import PATIENCE_S
from tidemark.http_server.listening import listen
from tidemark.http_server.metrics_server import serve_registry


def test_a_registry_is_served() -> None:
    registry, port = CollectorRegistry(), free_port()
    Counter("tidemark_example_total", "An example.", registry=registry).inc(3)
    serve_registry(registry, "127.0.0.1", port)
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_S) as answer:
        assert "tidemark_example_total 3.0" in answer.read().decode()


def test_the_reason_of_an_address_that_is_taken_does_not_repeat_it() -> None:
    with listen("127.0.0.1", 0) as taken, pytest.raises(OSError, match=r"\] Address already in use$"):
        serve_registry(CollectorRegistry(), *taken.getsockname())
