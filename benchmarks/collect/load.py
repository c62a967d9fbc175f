"""Load of browsers that send one request after another, each on a persistent connection.

Not a library, because those available in every environment would use more CPU than the measured server.
"""

import asyncio
import json
import time
from contextlib import closing
from dataclasses import dataclass, field
from typing import Final

from benchmarks.errors import BenchmarkError

_GOOD: Final = b"HTTP/1.1 204 "
_END: Final = b"\r\n\r\n"


@dataclass
class Answers:
    """The successful answers: the time in which they came, and the wait for each."""

    seconds: float = 0.0
    waits_s: list[float] = field(default_factory=list)


def request(events: int) -> bytes:
    """Returns a request with `events` visits. Their ids are equal, which no contestant checks."""
    now = time.time_ns() // 1_000_000
    visit = {
        "event_id": "3f2a1c9e-7b54-4c1d-9b0a-5d6e7f8a9b0c",
        "event_type": "visit",
        "event_time": now,
        "user_id": "2876512345-198234761-3398712345-776123984",
        "session_id": "1234567890-234567891-3456789012-456789123",
        "page_url": "https://shop.example/shoes/item-00042",
        "referrer": "https://shop.example/shoes",
    }
    body = json.dumps({"sent_at": now, "events": [visit] * events}).encode()
    agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
    head = f"POST /events HTTP/1.1\r\nHost: collect.example\r\nUser-Agent: {agent}\r\nOrigin: https://shop.example\r\n"
    return f"{head}Content-Type: text/plain;charset=UTF-8\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def send(port: int, sent: bytes, browsers: int, seconds: float) -> Answers:
    """Sends the request `sent` for `seconds` from each browser. Raises BenchmarkError at the first failed answer."""
    return asyncio.run(_send(port, sent, browsers, seconds))


async def _send(port: int, sent: bytes, browsers: int, seconds: float) -> Answers:
    answers, began = Answers(), time.perf_counter()
    await asyncio.gather(*(_browse(port, sent, began + seconds, answers) for _ in range(browsers)))
    answers.seconds = time.perf_counter() - began
    return answers


async def _browse(port: int, sent: bytes, until: float, answers: Answers) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with closing(writer):
        while (began := time.perf_counter()) < until:
            writer.write(sent)
            answer = await reader.readuntil(_END)
            if not answer.startswith(_GOOD):
                raise BenchmarkError(f"a request was answered with {answer.splitlines()[0].decode()}")
            answers.waits_s.append(time.perf_counter() - began)
