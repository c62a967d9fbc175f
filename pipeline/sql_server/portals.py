"""Prepared statements, and statements whose rows a client takes in portions."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tidemark.pipeline.sql_server.statement_result import StatementResult
from tidemark.pipeline.sql_server.wire import Column, Refused


@dataclass(slots=True)
class PreparedStatement:
    """A statement with parameters; `oids` are the types of these in PostgreSQL, 0 for any."""

    text: str
    oids: Sequence[int]
    described: Sequence[Column] | None = None
    """The columns that the client was sent before it named values."""


@dataclass(slots=True)
class Portal:
    """A statement with its values. `asked` are the requested formats of columns, `sent` counts sent rows."""

    text: str
    asked: Sequence[int]
    described: Sequence[Column] | None = None
    answer: StatementResult | None = None
    waiting: list[tuple[bytes | None, ...]] = field(default_factory=list)
    sent: int = 0
    is_held: bool = False
    """Whether the portal outlives the transaction."""

    def require_described(self, columns: Sequence[Column] | None) -> None:
        """Raises Refused if the client was sent other types of columns, by which it would misread the rows."""
        if self.described is None or columns is None:
            return
        for before, now in zip(self.described, columns, strict=True):
            if before.oid != now.oid:
                raise Refused("0A000", f"the type of column {now.name} depends on a parameter: cast it, as in $1::text")
