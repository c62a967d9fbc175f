"""Reads the body of a request, with limits on size and time."""

import asyncio

from starlette.requests import ClientDisconnect, Request


class TooLarge(Exception):
    """The body has too many bytes."""


class TooSlow(Exception):
    """The body did not end in time, or its client went away."""


async def read_body(request: Request, most_bytes: int, within_s: float) -> bytes:
    """Returns the body. Holds little more than `most_bytes` in memory. Raises TooLarge or TooSlow."""
    body = bytearray()
    try:
        async with asyncio.timeout(within_s):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most_bytes:
                    raise TooLarge(f"the body has more than {most_bytes} bytes")
    except (TimeoutError, ClientDisconnect) as error:
        raise TooSlow(f"the body did not end within {within_s:g} s") from error
    return bytes(body)
