"""Prepared statements, and statements whose rows a client takes in portions."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.reading.sql_server.statement_result import StatementResult


@dataclass(slots=True)
class PreparedStatement:
    """A statement with parameters; `oids` are the types of these in PostgreSQL, 0 for any."""

    text: str
    oids: Sequence[int]


@dataclass(slots=True)
class Portal:
    """A statement with its values. `asked` are the requested formats of columns, `sent` counts sent rows."""

    text: str
    asked: Sequence[int]
    answer: StatementResult | None = None
    waiting: list[tuple[bytes | None, ...]] = field(default_factory=list)
    sent: int = 0
