"""Makes the calls of delta-rs points of a writer, also where a module has bound one of them by name."""

import os
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final

import deltalake
import deltalake.table as tables
from deltalake import CommitProperties, DeltaTable
from deltalake.fs import DeltaStorageHandler
from deltalake.fs._base_handler import BaseDeltaStorageHandler
from deltalake.query import QueryBuilder
from deltalake.table import TableAlterer, TableMerger, TableOptimizer

from tests.simulation.writers import Fault, Held, Point, Step, Writer, current

Call = Callable[..., Any]
_LOG: Final = "_delta_log"
INJECTED: Final = "injected"
"""The word with which an injected error begins."""


def install() -> None:
    """Wraps every call that can matter; the originals are called inside."""
    _wrap_write()
    for name in ("delete", "update", "create_write_transaction", "restore", "repair"):
        _wrap(DeltaTable, name, _own, writes=True)
    for name in ("cleanup_metadata", "create_checkpoint", "compact_logs"):
        _wrap(DeltaTable, name, _own, writes=True, commits=False)
    DeltaTable.vacuum = _vacuum(DeltaTable.vacuum)  # type: ignore[method-assign]
    for name in ("update_incremental", "load_as_version", "history"):
        _wrap(DeltaTable, name, _own, writes=False)
    _wrap(DeltaTable, "__init__", lambda _, uri=None, *__, table_uri=None, **___: str(uri or table_uri), writes=False)
    for name, writes in (("create", True), ("is_deltatable", False)):
        static = _point(name, getattr(DeltaTable, name), lambda uri, *_, **__: str(uri), writes=writes)
        setattr(DeltaTable, name, staticmethod(static))
    for name in (name for name in vars(TableAlterer) if not name.startswith("_")):
        _wrap(TableAlterer, name, lambda self, *_, **__: str(self.table.table_uri), writes=True)
    for name in ("compact", "z_order"):
        _wrap(TableOptimizer, name, lambda self, *_, **__: str(self.table.table_uri), writes=True)
    _wrap(TableMerger, "execute", lambda self, *_, **__: str(self._table.table_uri()), writes=True, commits=False)
    for owner, name in ((BaseDeltaStorageHandler, "delete_file"), (DeltaStorageHandler, "open_output_stream")):
        _wrap(owner, name, lambda *_, **__: "file", writes=True, commits=False)
    _wrap(QueryBuilder, "execute", lambda *_, **__: "tables", writes=False)


def _wrap_write() -> None:
    """Wraps the function that modules bind by name, in every module."""
    real = deltalake.write_deltalake
    write = _point("write", real, _uri_of, writes=True)
    for module in [*sys.modules.values()]:
        if getattr(module, "write_deltalake", None) is real:
            module.write_deltalake = write  # type: ignore[attr-defined]


def _wrap(owner: type, name: str, uri_of: Callable[..., str], *, writes: bool, commits: bool = True) -> None:
    shown = {"__init__": "open", "update_incremental": "refresh", "create_write_transaction": "commit"}.get(name, name)
    real = getattr(owner, name)
    setattr(owner, name, _point(shown, real, uri_of, writes=writes, commits=commits))


def _own(table: DeltaTable, *_: object, **__: object) -> str:
    return table.table_uri


def _uri_of(table: Any, *_: object, **__: object) -> str:
    return str(getattr(table, "table_uri", table))


def _vacuum(real: Call) -> Call:
    """A dry run of vacuum only reads."""
    removes = _point("vacuum", real, _own, writes=True, commits=False)

    def vacuum(*args: Any, **given: Any) -> Any:
        return (real if given.get("dry_run", True) else removes)(*args, **given)

    return vacuum


def _point(name: str, real: Call, uri_of: Callable[..., str], *, writes: bool, commits: bool = True) -> Call:
    """Wraps a call so that its writer stops before it. Only calls that commit can lose their answer or land later."""

    def wrapped(*args: Any, **given: Any) -> Any:
        writer = current()
        if writer is None:
            return real(*args, **given)
        uri = uri_of(*args, **given)
        step = writer.at(Point(name, uri.rstrip("/").rsplit("/", 1)[-1], writes))
        try:
            aside = partial(_aside, real, args, given, commits=commits)
            return _performed(writer, step, uri, partial(real, *args, **given), aside)
        except Exception as error:
            step.outcome = f"{type(error).__name__}: {' '.join(str(error).split())[:90]}"
            raise

    return wrapped


def _performed(writer: Writer, step: Step, uri: str, do: Call, aside: Call) -> Any:
    """Does the call, or what a fault makes of it; `aside` does it without moving the writer's own handle."""
    with writer.inside():
        if step.fault in (None, Fault.NONE, Fault.CLOCK):
            return do()
        if step.fault is Fault.REFUSED or not step.point.writes:
            raise OSError(f"{INJECTED}: the store refused")
        if step.fault is Fault.LATE:
            writer.stage.held = _hold(uri, step.point.table, aside, writer.stage.wait)
            raise OSError(f"{INJECTED}: the store did not answer")
        aside()
    step.outcome = "done, and its answer is on the way"
    writer.pause()
    raise OSError(f"{INJECTED}: the answer was lost")


def _aside(real: Call, args: tuple[Any, ...], given: dict[str, Any], *, commits: bool) -> Any:
    """Performs a call with handles of its own at the same versions, and without another try at a later version."""
    if not commits or not args:
        return real(*args, **given)
    properties = given.get("commit_properties")
    if properties is not None:
        given = {**given, "commit_properties": _once(properties)}
    return real(_again(args[0]), *args[1:], **given)


def _again(handle: Any) -> Any:
    if isinstance(handle, DeltaTable):
        return tables.DeltaTable(handle.table_uri, version=handle.version())
    if isinstance(handle, TableOptimizer | TableAlterer):
        return type(handle)(_again(handle.table))
    return handle


def _once(properties: CommitProperties) -> CommitProperties:
    return CommitProperties(properties.custom_metadata, 0, properties.app_transactions)


def _hold(uri: str, table: str, aside: Call, wait: int) -> Held:
    """Performs a call and takes its log entry back; the entry lands into its own version, if that is still free."""
    log, before = Path(uri.removeprefix("file://")) / _LOG, _entries(uri)
    try:
        aside()
    except Exception:  # noqa: BLE001 - it lost the race, so it never lands
        return Held(table, lambda: False, wait, landed=False)
    hidden = [(log / name, log / f"held-{time.time_ns()}-{name}") for name in sorted(_entries(uri) - before)]
    for entry, aside_as in hidden:
        entry.rename(aside_as)
    return Held(table, lambda: _land(hidden), wait, landed=None if hidden else False)


def _land(hidden: Iterable[tuple[Path, Path]]) -> bool:
    """Lets log entries land into their versions; returns whether any was free."""
    landed = False
    for entry, aside_as in hidden:
        if not entry.exists():
            os.link(aside_as, entry)
            landed = True
        aside_as.unlink()
    return landed


def _entries(uri: str) -> set[str]:
    log = Path(uri.removeprefix("file://")) / _LOG
    return {entry.name for entry in log.glob("[0-9]*.json")} if log.is_dir() else set()
