"""Turns lines into events: judges and counts each line, and gives each visit a user and a session."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tidemark.producers.access_log.follow import Line
from tidemark.producers.access_log.format_check import MalformedLine
from tidemark.producers.access_log.open_file import LONGEST_LINE
from tidemark.producers.access_log.outcome import LineOutcome
from tidemark.producers.access_log.request import Request
from tidemark.producers.access_log.request_fields import LineParser
from tidemark.producers.access_log.request_target import canonical_path, parse_target, selected_query
from tidemark.producers.access_log.rules import judge
from tidemark.producers.access_log.sessions import Sessions
from tidemark.producers.access_log.whole_url import without_site
from tidemark.producers.collect.contract import AGENT_LENGTH
from tidemark.producers.pseudonym import Pseudonyms

_BYTE_ORDER_MARK: Final = "\ufeff"


@dataclass(frozen=True)
class VisitRules:
    """The configured rules. `site` is the prefix of each path; only `parameters` of a query become part of a page."""

    parse: LineParser
    site: str = ""
    parameters: frozenset[str] = frozenset()
    ignored: Sequence[str] = ()
    since_ms: int = 0


@dataclass
class Visits:
    """Turns lines of run `name` into events.

    `counts` counts each line once, by outcome. `malformed` is the latest malformed line.
    """

    name: str
    rules: VisitRules
    pseudonyms: Pseudonyms
    sessions: Sessions
    counts: Counter[LineOutcome] = field(default_factory=Counter)
    malformed: MalformedLine | None = None

    def events_from(self, lines: Iterable[Line]) -> list[dict[str, Any]]:
        """Returns the events of the lines that are visits, with the fields of the contract."""
        events = []
        for line in lines:
            outcome, request = self._read(line.text)
            self.counts[outcome] += 1
            if outcome is LineOutcome.VISIT and request:
                events.append(self._event(line, request))
        return events

    def _read(self, text: bytes) -> tuple[LineOutcome, Request | None]:
        if len(text) > LONGEST_LINE:
            return LineOutcome.TOO_LONG, None
        try:
            line = text.decode().removeprefix(_BYTE_ORDER_MARK).rstrip("\r")
        except UnicodeDecodeError:
            return LineOutcome.UNDECODABLE, None
        try:
            request = without_site(self.rules.parse(line), self.rules.site)
        except (ValueError, RecursionError) as error:
            self.malformed = MalformedLine(line, str(error))
            return LineOutcome.MALFORMED, None
        return judge(request, self.rules.since_ms, self.rules.ignored), request

    def _event(self, line: Line, request: Request) -> dict[str, Any]:
        user_id = self.pseudonyms.pseudonym_of(request.address, request.agent or "")
        return {
            # The line contains the address, so its hash is keyed, like the user's.
            "event_id": self.pseudonyms.pseudonym_of(self.name, str(line.offset), line.text),
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
        target = parse_target(request.line)
        query = selected_query(target.query, self.rules.parameters) if target else ""
        path = target.path if target else ""
        return f"{self.rules.site or request.site or ''}{path}{'?' if query else ''}{query}"


def _without_query(address: str) -> str:
    """Returns the address of a page without query and fragment, which may identify a person."""
    return canonical_path(address.partition("#")[0].partition("?")[0])
