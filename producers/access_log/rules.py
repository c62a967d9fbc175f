"""The rules by which a request is a visit. docs/collecting.md states them; `Outcome` has their order."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

from producers.access_log.outcome import Outcome
from producers.access_log.paths import is_asset, is_probe
from producers.access_log.request import Request
from producers.access_log.target import canonical, target_of
from producers.collect.contract import AGENT_LENGTH
from producers.robots import is_robot

_OK: Final = (200, 304)


def judge(request: Request, since_ms: int, ignored: Sequence[str]) -> Outcome:
    """Whether a request is a visit, or why it is none. `ignored` are patterns of paths, as a shell has them."""
    target = target_of(request.line)
    if request.time_ms < since_ms:
        return Outcome.BEFORE
    if target is None:
        return Outcome.NO_REQUEST
    method, path, _ = target
    return _of_path(method, path) or _of_status(request.status) or _of_page(path, ignored) or _of_client(request)


def _of_path(method: str, path: str) -> Outcome | None:
    if method != "GET":
        return Outcome.OTHER_METHOD
    return Outcome.PROBE if is_probe(path) else None


def _of_status(status: int) -> Outcome | None:
    if status in _OK:
        return None
    kinds = {3: Outcome.REDIRECT, 4: Outcome.CLIENT_ERROR, 5: Outcome.SERVER_ERROR}
    return kinds.get(status // 100, Outcome.OTHER_STATUS)


def _of_page(path: str, ignored: Sequence[str]) -> Outcome | None:
    if is_asset(path):
        return Outcome.ASSET
    return Outcome.IGNORED if any(fnmatchcase(path, canonical(pattern)) for pattern in ignored) else None


def _of_client(request: Request) -> Outcome:
    if request.purpose and "prefetch" in request.purpose:
        return Outcome.PREFETCH
    if request.agent is None:
        return Outcome.VISIT
    if not request.agent.strip():
        return Outcome.NO_AGENT
    return Outcome.ROBOT if is_robot(request.agent[:AGENT_LENGTH]) else Outcome.VISIT
