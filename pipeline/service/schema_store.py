"""The schemas that the fold knows; those of a registry are asked for when their first record comes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

import structlog

from pipeline.errors import SetUpError, Unreachable
from pipeline.fold.decode import reader
from pipeline.kafka.registry import Registry
from pipeline.tables.event_schemas import store_schemas
from pipeline.tables.store_errors import one_line
from schemas.fields import EventSchemas

_AGAIN_MS: Final = 300_000
"""After so long an id that the registry does not have is asked for again."""
_MOST_ABSENT: Final = 1_000
"""Bytes of something else may look like any id: of more than so many nobody is asked for a while."""
_log = structlog.get_logger()


class SchemaStore:
    """What is known now; with a registry it may become more."""

    def __init__(self, known: EventSchemas, registry: Registry | None = None, warehouse: str = "") -> None:
        """Of `known` all that comes from a registry is kept in the warehouse by `keep`."""
        self.known = known
        self._registry = registry
        self._warehouse = warehouse
        self._absent: dict[int, int] = {}

    def at_start(self, subject: str) -> None:
        """Asks for all versions of a subject. Raises SetUpError where nothing is known to read by.

        Where the registry does not answer, what was kept will do.
        """
        if self._registry is None:
            return
        try:
            told = self._registry.of_subject(subject)
        except Unreachable as error:
            if not self.known.texts:
                raise
            _log.warning("registry_unavailable", reason=str(error))
            told = {}
        self._add(self._usable(told))
        if not self.known.texts:
            raise SetUpError(
                f"the registry has no schema of subject {subject} that has what an event needs: register one, or name "
                "another subject with schemas.registry.subject"
            )

    def keep(self) -> None:
        """Has a start know them where the registry is away."""
        if self._registry is not None:
            store_schemas(self._warehouse, self.known.texts)

    def learn(self, unknown: Callable[[Collection[int]], Sequence[int]], now: int) -> bool:
        """Whether schemas came to be known that a batch has records of.

        `unknown` gives ids of its records that are not known, other than those it is given. Raises Unreachable.
        """
        if self._registry is None:
            return False
        self._absent = {number: asked for number, asked in self._absent.items() if now - asked < _AGAIN_MS}
        while len(self._absent) < _MOST_ABSENT and (numbers := unknown(self._absent.keys())):
            told = {number: self._registry.schema(number) for number in numbers}
            usable = self._usable({number: text for number, text in told.items() if text})
            self._absent |= dict.fromkeys(told.keys() - usable.keys(), now)
            if usable:
                self._add(usable)
                self.keep()
                _log.info("schemas_found", ids=sorted(usable))
                return True
        return False

    def _add(self, texts: Mapping[int, str]) -> None:
        self.known = replace(self.known, texts={**self.known.texts, **texts})

    def _usable(self, texts: Mapping[int, str]) -> dict[int, str]:
        """Those that have what an event needs. A topic may have events of other kinds, which are dead letters."""
        found: dict[int, str] = {}
        for number, text in texts.items():
            try:
                reader(replace(self.known, texts={**self.known.texts, **found, number: text}))
            except Exception as error:  # noqa: BLE001 - whatever is wrong with it, it is a rejection
                _log.warning("schema_unusable", id=number, reason=one_line(error))
            else:
                found[number] = text
        return found
