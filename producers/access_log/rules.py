"""The rules by which a request is a visit. docs/collecting.md lists them; `LineOutcome` has their order."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

from tidemark.producers.access_log.outcome import LineOutcome
from tidemark.producers.access_log.paths import is_asset, is_probe
from tidemark.producers.access_log.request import Request
from tidemark.producers.access_log.request_target import canonical, parse_target
from tidemark.producers.access_log.whole_url import is_whole_url
from tidemark.producers.collect.contract import AGENT_LENGTH
from tidemark.producers.robots import is_robot

_OK: Final = (200, 304)


def judge(request: Request, since_ms: int, ignored: Sequence[str]) -> LineOutcome:
    """Returns VISIT or the reason why `request` is not a visit. `ignored` are glob patterns of paths."""
    target = parse_target(request.line)
    if request.time_ms < since_ms:
        return LineOutcome.BEFORE
    if target is None:
        return LineOutcome.NO_REQUEST
    method, path, _ = target
    return _of_path(method, path) or _of_status(request.status) or _of_page(path, ignored) or _of_client(request)


def _of_path(method: str, path: str) -> LineOutcome | None:
    if method != "GET":
        return LineOutcome.OTHER_METHOD
    if is_whole_url(path):
        return LineOutcome.OTHER_SITE
    return LineOutcome.PROBE if is_probe(path) else None


def _of_status(status: int) -> LineOutcome | None:
    if status in _OK:
        return None
    kinds = {3: LineOutcome.REDIRECT, 4: LineOutcome.CLIENT_ERROR, 5: LineOutcome.SERVER_ERROR}
    return kinds.get(status // 100, LineOutcome.OTHER_STATUS)


def _of_page(path: str, ignored: Sequence[str]) -> LineOutcome | None:
    if is_asset(path):
        return LineOutcome.ASSET
    return LineOutcome.IGNORED if any(fnmatchcase(path, canonical(pattern)) for pattern in ignored) else None


def _of_client(request: Request) -> LineOutcome:
    if request.purpose and "prefetch" in request.purpose:
        return LineOutcome.PREFETCH
    if request.agent is None:
        return LineOutcome.VISIT
    if not request.agent.strip():
        return LineOutcome.NO_AGENT
    return LineOutcome.ROBOT if is_robot(request.agent[:AGENT_LENGTH]) else LineOutcome.VISIT
