"""A request's body, as far as it may be large and slow."""

import asyncio

from starlette.requests import ClientDisconnect, Request


class TooLarge(Exception):
    """The body has more bytes than it may."""


class TooSlow(Exception):
    """The body did not end in time, or its client went away."""


async def read_body(request: Request, most_bytes: int, within_s: float) -> bytes:
    """Returns the body, of which at no time much more than `most_bytes` are in memory. Raises TooLarge or TooSlow."""
    body = bytearray()
    try:
        async with asyncio.timeout(within_s):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most_bytes:
                    raise TooLarge(f"a body of more than {most_bytes} bytes")
    except (TimeoutError, ClientDisconnect) as error:
        raise TooSlow(f"the body did not end within {within_s:g} s") from error
    return bytes(body)
