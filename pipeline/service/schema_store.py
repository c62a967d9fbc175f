"""The schemas of the fold. A schema of a registry is requested when its first record comes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

import structlog

from tidemark.pipeline.decoding.decode import projection_of
from tidemark.pipeline.errors import SetUpError, Unreachable
from tidemark.pipeline.event_time.checks import DETAILS, Check
from tidemark.pipeline.kafka.registry import Registry, Unusable
from tidemark.pipeline.tables.event_schemas import store_schemas
from tidemark.pipeline.tables.store_errors import one_line
from tidemark.schemas.fields import EventSchemas

_RETRY_MS: Final = 300_000
"""An id that the registry does not have is requested again after this time."""
_MOST_NAMED: Final = 3
_MOST_ABSENT: Final = 1_000
"""Other bytes may look like ids: while this many ids are absent, no further id is requested."""
_log = structlog.get_logger()


class SchemaStore:
    """The known schemas; with a registry, new schemas are added."""

    def __init__(
        self,
        known: EventSchemas,
        registry: Registry | None = None,
        warehouse: str = "",
        named_sql: str = "",
        paths: Collection[str] = (),
    ) -> None:
        """Starts with the schemas in `known`. Without a warehouse, nothing is stored.

        A schema is usable if it has what an event and the SQL in `named_sql` need, and can be read at `paths`.
        """
        self.known = known
        self._registry = registry
        self._warehouse = warehouse
        self._needed = (named_sql, paths)
        self.unusable: dict[int, str] = {}
        """Reasons why schemas of the registry cannot be used, by schema id."""
        self._absent: dict[int, int] = {}

    def load(self) -> None:
        """Requests all versions of the subject; uses the stored schemas if the registry does not answer.

        Raises SetUpError if no schema is known.
        """
        if self._registry is None:
            return
        try:
            answers = self._registry.of_subject()
        except Unreachable as error:
            if not self.known.texts:
                raise
            _log.warning("registry_unavailable", reason=str(error), uses="stored schemas")
            answers = {}
        self._add(self._usable(answers))
        if not self.known.texts:
            raise SetUpError(
                f"the registry has no schema of subject {self._registry.subject} that has what an event needs: "
                "register a schema, or name another subject with schemas.registry.subject"
            )

    def store(self) -> None:
        """Stores the schemas in the warehouse, for a start while the registry is unavailable."""
        if self._registry is not None and self._warehouse:
            store_schemas(self._warehouse, self.known.texts)

    def learn(self, unknown: Callable[[Collection[int]], Sequence[int]], now: int) -> bool:
        """Requests unknown schemas of a batch at `now` in ms; returns whether any was added. Raises Unreachable.

        `unknown` returns schema ids in the batch that are not known, except the ids that it is given.
        """
        if self._registry is None:
            return False
        self._absent = {each: asked_at for each, asked_at in self._absent.items() if now - asked_at < _RETRY_MS}
        while len(self._absent) < _MOST_ABSENT and (
            schema_ids := unknown(self._absent.keys() | self.known.texts.keys())
        ):
            answers = {schema_id: self._registry.schema(schema_id) for schema_id in schema_ids}
            usable = self._usable({schema_id: answer for schema_id, answer in answers.items() if answer is not None})
            self._absent |= dict.fromkeys(answers.keys() - usable.keys(), now)
            if usable:
                self._add(usable)
                self.store()
                _log.info("schemas_found", ids=[*map(str, sorted(usable))])
                return True
        return False

    def with_reasons(
        self, details: Mapping[str, int], unknown: Callable[[Collection[int]], Sequence[int]]
    ) -> Mapping[str, int]:
        """Returns `details`, numbers of malformed records, with the reasons why schemas that records name are unusable.

        `unknown` returns schema ids of the records, except the ids that it is given.
        """
        text = DETAILS[Check.SCHEMA_ID]
        if not (text in details and self.unusable):
            return details
        named = [
            f"{schema_id}: {self.unusable[schema_id]}"
            for schema_id in sorted(unknown(self.known.texts.keys()))
            if schema_id in self.unusable
        ]
        because = f"{text}, or it cannot be used ({'; '.join(named[:_MOST_NAMED])})" if named else text
        return {because if detail == text else detail: records for detail, records in details.items()}

    def _add(self, texts: Mapping[int, str]) -> None:
        self.known = replace(self.known, texts={**self.known.texts, **texts})

    def _usable(self, answers: Mapping[int, str | Unusable]) -> dict[int, str]:
        """Returns the schemas that have what an event needs. Records of other schemas become dead letters."""
        usable: dict[int, str] = {}
        for schema_id, answer in answers.items():
            if isinstance(answer, Unusable):
                self._reject(schema_id, answer.reason)
                continue
            try:
                with_others = replace(self.known, texts={**self.known.texts, **usable, schema_id: answer})
                projection_of(with_others, *self._needed)
            except Exception as error:  # noqa: BLE001 - whatever is wrong with it, it is a rejection
                self._reject(schema_id, one_line(error))
            else:
                usable[schema_id] = answer
                self.unusable.pop(schema_id, None)
        return usable

    def _reject(self, schema_id: int, reason: str) -> None:
        """Remembers why a schema cannot be used, and warns if that is new."""
        if self.unusable.get(schema_id) != reason:
            _log.warning("schema_unusable", id=str(schema_id), reason=reason)
            self.unusable[schema_id] = reason
