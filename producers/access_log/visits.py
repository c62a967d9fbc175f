"""From lines to events: each line is judged and counted, and each visit is given a user and a session."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from producers.access_log.follow import Line
from producers.access_log.formats import Parse
from producers.access_log.opened import LONGEST
from producers.access_log.outcome import Outcome
from producers.access_log.request import Request
from producers.access_log.rules import judge
from producers.access_log.sessions import Sessions
from producers.access_log.target import canonical_path, kept_query, target_of
from producers.collect.contract import AGENT_LENGTH
from producers.pseudonym import Pseudonyms


@dataclass(frozen=True)
class Rules:
    """What a person has chosen. `site` stands before each path; `parameters` of a query are kept, and no others."""

    parse: Parse
    site: str = ""
    parameters: frozenset[str] = frozenset()
    ignored: Sequence[str] = ()
    since_ms: int = 0


@dataclass
class Visits:
    """Makes events of lines. `counts` has each line once, by its outcome."""

    name: str
    rules: Rules
    pseudonyms: Pseudonyms
    sessions: Sessions
    counts: Counter[Outcome] = field(default_factory=Counter)

    def of(self, lines: Iterable[Line]) -> list[dict[str, Any]]:
        """The events of those lines that are visits, as rows of the contract."""
        events = []
        for line in lines:
            outcome, request = self._read(line.text)
            self.counts[outcome] += 1
            if outcome is Outcome.VISIT and request:
                events.append(self._event(line, request))
        return events

    def _read(self, text: bytes) -> tuple[Outcome, Request | None]:
        if len(text) > LONGEST:
            return Outcome.TOO_LONG, None
        try:
            request = self.rules.parse(text.decode().rstrip("\r"))
        except UnicodeDecodeError:
            return Outcome.UNDECODABLE, None
        except (ValueError, RecursionError):
            return Outcome.MALFORMED, None
        return judge(request, self.rules.since_ms, self.rules.ignored), request

    def _event(self, line: Line, request: Request) -> dict[str, Any]:
        user_id = self.pseudonyms.of(request.address, request.agent or "")
        return {
            # The line has the address, so its hash is keyed as the user's is.
            "event_id": self.pseudonyms.of(self.name, str(line.offset), line.text),
            "event_type": "visit",
            "user_id": user_id,
            "event_time": request.time_ms,
            "page_url": self._page(request),
            "session_id": self.sessions.visit(user_id, request.time_ms),
            "referrer": _without_query(request.referrer) if request.referrer else None,
            "user_agent": request.agent[:AGENT_LENGTH] if request.agent else None,
            "element_id": None,
        }

    def _page(self, request: Request) -> str:
        target = target_of(request.line)
        query = kept_query(target.query, self.rules.parameters) if target else ""
        path = target.path if target else ""
        return f"{self.rules.site or request.site or ''}{path}{'?' if query else ''}{query}"


def _without_query(address: str) -> str:
    """The address of a page without what may identify a person."""
    return canonical_path(address.partition("#")[0].partition("?")[0])
