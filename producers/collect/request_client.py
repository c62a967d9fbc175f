"""The client of a request, by its connection and headers."""

from starlette.requests import Request

from tidemark.producers.collect.contract import AGENT_LENGTH


def opted_out(request: Request) -> bool:
    """Returns whether the browser sends Do Not Track or Global Privacy Control."""
    return "1" in (request.headers.get("dnt"), request.headers.get("sec-gpc"))


def address_of(request: Request) -> str:
    """Returns the address, of the client of a trusted proxy if there is one."""
    return request.client.host if request.client else ""


def agent_of(request: Request) -> str:
    """Returns the user agent, cut off if it is too long; empty if there is no agent.

    Headers are decoded as Latin-1. The agent is read as UTF-8, like in logs, so that a browser has one agent.
    """
    agent = request.headers.get("user-agent", "").encode("latin-1").decode("utf-8", "replace")
    return agent.strip()[:AGENT_LENGTH]
