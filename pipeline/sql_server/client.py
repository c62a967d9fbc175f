"""Answers the messages of one client until it disconnects."""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence

import duckdb
import pyarrow as pa

from tidemark.command_line.counts import counted
from tidemark.pipeline.errors import TransientError
from tidemark.pipeline.sql_server.answers import Answers, split
from tidemark.pipeline.sql_server.client_session import Session
from tidemark.pipeline.sql_server.copying import CopyFormat
from tidemark.pipeline.sql_server.database import Database
from tidemark.pipeline.sql_server.literals import literal_of
from tidemark.pipeline.sql_server.parameters import count_of, filled
from tidemark.pipeline.sql_server.pg_types import TEXT
from tidemark.pipeline.sql_server.pg_values import columns_of, formats_of, rows_of
from tidemark.pipeline.sql_server.portals import Portal, PreparedStatement
from tidemark.pipeline.sql_server.sql_metrics import SqlMetrics, StatementOutcome
from tidemark.pipeline.sql_server.statement_result import StatementResult
from tidemark.pipeline.sql_server.wire import LONGEST, Body, Message, Refused, Wire
from tidemark.pipeline.tables.store_errors import is_of_store, one_line


class Client:
    """Answers the messages of a client that is logged in."""

    def __init__(self, wire: Wire, database: Database, started: Mapping[str, str], metrics: SqlMetrics) -> None:
        """`started` are the settings of the client's start message. Raises Refused for one that has no effect."""
        self._wire, self._session, self._metrics = wire, Session(started), metrics
        self._answers = Answers(database, self._session)
        self._prepared, self._portals = self._session.prepared, self._session.portals
        self._skips = False
        self._handlers: dict[bytes, Callable[[Body], None]] = {
            b"Q": self._query,
            b"P": self._parse,
            b"B": self._bind,
            b"D": self._describe,
            b"E": self._execute,
            b"C": self._close,
            b"H": lambda _: self._wire.flush(),
            b"S": lambda _: self._ready(),
        }

    def serve(self) -> None:
        """Serves until the client disconnects. Raises Refused for a message that is too long."""
        self._ready()
        while message := self._wire.read(LONGEST):
            if message.type == b"X":
                return
            self._take(message)

    def interrupt(self) -> None:
        """Ends the statement that runs."""
        self._answers.interrupt()

    def _take(self, message: Message) -> None:
        """Answers a message. After an error, skips messages up to the next Sync."""
        if self._skips and message.type != b"S":
            return
        self._skips = False
        try:
            self._handlers.get(message.type, self._unknown)(message.body)
        except Refused as error:
            self._failed(message, StatementOutcome.REFUSED, error.code, str(error))
        except duckdb.Error as error:
            self._failed(message, StatementOutcome.FAILED, "42000", str(error))
        except (ArithmeticError, ValueError, RecursionError, struct.error) as error:
            self._failed(message, StatementOutcome.FAILED, "22000", f"invalid value or statement: {error}")
        except Exception as error:
            if not (is_of_store(error) or isinstance(error, TransientError)):
                raise
            self._failed(message, StatementOutcome.STORE_FAILED, "58030", f"the store failed: {one_line(error)}")

    def _failed(self, message: Message, outcome: StatementOutcome, code: str, sentence: str) -> None:
        self._metrics.count(outcome)
        self._wire.send_error(code, sentence)
        self._session.failed()
        if message.type == b"Q":
            self._ready()
        else:
            self._skips = True

    def _ready(self) -> None:
        if self._session.status == b"I":
            self._session.end_portals()
        for name, value in self._session.settings.unreported().items():
            self._wire.send(b"S", f"{name}\0{value}\0".encode())
        self._wire.send(b"Z", self._session.status)
        self._wire.flush()

    def _unknown(self, _: Body) -> None:
        raise Refused("0A000", "messages of this type are not supported")

    def _query(self, body: Body) -> None:
        statements = split(body.text())
        if not statements:
            self._wire.send(b"I")
        for statement in statements:
            portal = Portal(statement, ())
            with self._answers.limited():
                schema = self._answer_of(portal).schema
                if schema is not None:  # pgjdbc ends at NoData, which has no place here
                    self._send_columns(schema, ())
                self._send_rows(portal, 0)
        self._ready()

    def _parse(self, body: Body) -> None:
        name, statements, oids = body.text(), split(body.text()), body.numbers("i")
        if len(statements) > 1:
            raise Refused("42601", "a prepared statement must be a single statement")
        text = statements[0] if statements else ""
        self._session.require_room(self._prepared, name, text)
        self._prepared[name] = PreparedStatement(text, self._oids(text, oids))
        self._wire.send(b"1")

    def _oids(self, text: str, oids: Sequence[int]) -> list[int]:
        """Returns the types of a statement's parameters, of which the client has named `oids`."""
        named = [*oids, *[0] * (count_of(text) - len(oids))]
        if all(named):
            return named
        types = self._answers.parameter_types(text)
        return [oid or types.get(number, 0) for number, oid in enumerate(named, start=1)]

    def _bind(self, body: Body) -> None:
        name, prepared = body.text(), self._statement(body.text())
        forms, count = body.numbers("h"), body.number("h")
        values = [None if (size := body.number()) < 0 else body.take(size) for _ in range(count)]
        if count != len(prepared.oids):
            raise Refused(
                "08P01",
                f"the statement has {counted(len(prepared.oids), 'parameter')}, but {counted(count, 'value')} came",
            )
        literals = map(literal_of, values, prepared.oids, formats_of(forms, count))
        text = filled(prepared.text, [*literals])
        self._session.require_room(self._portals, name, text)
        self._portals[name] = Portal(text, body.numbers("h"), prepared.described)
        self._wire.send(b"2")

    def _describe(self, body: Body) -> None:
        if body.take(1) == b"S":
            prepared = self._statement(body.text())
            oids = [oid or TEXT for oid in prepared.oids]
            self._wire.send(b"t", struct.pack(f"!h{len(oids)}i", len(oids), *oids))
            schema = self._schema_of(prepared.text, [literal_of(None, oid, 0) for oid in prepared.oids])
            prepared.described = None if schema is None else columns_of(schema)
            self._send_columns(schema, ())
        else:
            portal = self._portal(body.text())
            with self._answers.limited():
                self._send_columns(self._answer_of(portal).schema, portal.asked)

    def _schema_of(self, text: str, nulls: Sequence[str]) -> pa.Schema | None:
        """Returns the columns of a statement. `nulls` are literals of the types of its parameters."""
        try:  # DuckDB takes `||` with a constant null for a number; some functions take constants only
            return self._answers.schema_of(filled(text, [f"(SELECT {null})" for null in nulls]))
        except duckdb.Error:
            return self._answers.schema_of(filled(text, nulls))

    def _execute(self, body: Body) -> None:
        portal, most = self._portal(body.text()), body.number()
        if portal.text:
            with self._answers.limited():
                self._send_rows(portal, most)
        else:
            self._wire.send(b"I")

    def _close(self, body: Body) -> None:
        statements: dict[str, PreparedStatement] | dict[str, Portal] = (
            self._prepared if body.take(1) == b"S" else self._portals
        )
        statements.pop(body.text(), None)
        self._wire.send(b"3")

    def _answer_of(self, portal: Portal) -> StatementResult:
        if portal.answer is None:
            result = self._answers.answer(portal.text) if portal.text else StatementResult("")
            portal.require_described(None if result.schema is None else columns_of(result.schema))
            portal.answer = result
        return portal.answer

    def _send_columns(self, schema: pa.Schema | None, asked: Sequence[int]) -> None:
        """Describes the columns of a result, in the formats that the client asked for; None is one without rows."""
        if schema is None:
            self._wire.send(b"n")
        else:
            self._wire.send_columns(columns_of(schema), formats_of(asked, len(schema)))

    def _send_rows(self, portal: Portal, most: int) -> None:
        """Sends at most `most` rows (0: all), then whether the portal is suspended or complete."""
        result = self._answer_of(portal)
        if result.copied:
            self._send_copy(portal, result, *result.copied)
            return
        formats = formats_of(portal.asked, len(result.schema) if result.schema is not None else 0)
        left, batches = most or -1, result.take()
        while left != 0:
            if not portal.waiting:
                batch = next(batches, None)
                if batch is None:
                    break
                portal.waiting = [*rows_of(batch, formats)][::-1]
                continue
            self._wire.send_row(portal.waiting.pop())
            portal.sent, left = portal.sent + 1, left - 1
        if left == 0:
            self._wire.send(b"s")
            return
        self._complete(f"{result.tag} {portal.sent}" if result.tag in ("SELECT", "FETCH") else result.tag)

    def _send_copy(self, portal: Portal, result: StatementResult, form: CopyFormat, schema: pa.Schema) -> None:
        formats = [int(form.form == "binary")] * len(schema)
        self._wire.send(b"H", struct.pack(f"!bh{len(formats)}h", formats[0] if formats else 0, len(formats), *formats))

        def rows() -> Iterator[tuple[bytes | None, ...]]:
            for batch in result.take():
                portal.sent += batch.num_rows
                yield from rows_of(batch, formats)

        for copied in form.encoded(schema.names, rows()):
            self._wire.send(b"d", copied)
        self._wire.send(b"c")
        self._complete(f"COPY {portal.sent}")

    def _complete(self, tag: str) -> None:
        self._wire.send(b"C", tag.encode() + b"\0")
        self._metrics.count(StatementOutcome.ANSWERED)

    def _statement(self, name: str) -> PreparedStatement:
        if name not in self._prepared:
            raise Refused("26000", f"there is no prepared statement {name!r}")
        return self._prepared[name]

    def _portal(self, name: str) -> Portal:
        if name not in self._portals:
            raise Refused("34000", f"there is no portal {name!r}")
        return self._portals[name]
