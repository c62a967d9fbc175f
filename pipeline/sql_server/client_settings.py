"""The settings of PostgreSQL that a client may change or ask for, and the values that take effect."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, NamedTuple

from tidemark.pipeline.settings.report_settings import time_zones
from tidemark.pipeline.sql_server.wire import Refused

VERSION: Final = "9.6.0"
"""The version of PostgreSQL that is reported to clients, which choose their queries of catalogs by it."""
_UNITS_MS: Final = {"us": 0.001, "ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION: Final = re.compile(rf"(\d{{1,10}}(?:\.\d{{1,6}})?) ?({'|'.join(_UNITS_MS)})?")
_OFFSET: Final = re.compile(r"(?:GMT|UTC)([+-]\d{1,2})(?::?00)?|([+-]?\d{1,2})(?:\.0)?", re.IGNORECASE)
"""Whole hours: west of UTC if positive after `GMT`, as in POSIX; else east."""
_SEARCHED: Final = frozenset({"main", "public", "pg_catalog", "$user", ""})
"""Schemas of a search path with which names mean what they mean here: the views, and the catalogs."""


class ClientSetting(NamedTuple):
    """A setting: its name for clients, its first value, and a function that returns the value that takes effect.

    The function returns None for a value that would not take effect. Changes of `is_reported` settings are sent to
    clients.
    """

    name: str
    first: str
    accepted: Callable[[str], str | None]
    is_reported: bool = False


def _only(*values: str) -> Callable[[str], str | None]:
    """Accepts spellings of the only value, which is the first of `values`."""
    return lambda value: values[0] if value.lower() in {each.lower() for each in values} else None


def _on(value: str) -> str | None:
    return "on" if value.lower() in ("on", "true", "yes", "1", "t", "y") else None


def _off(value: str) -> str | None:
    return "off" if value.lower() in ("off", "false", "no", "0", "f", "n") else None


def _search_path(value: str) -> str | None:
    return value if {name.strip().strip('"').lower() for name in value.split(",")} <= _SEARCHED else None


def _encoding(value: str) -> str | None:
    """Ignores what is no letter or digit, as PostgreSQL does: asyncpg starts with `'utf-8'`, quotes included."""
    return "UTF8" if re.sub(r"[^a-z0-9]", "", value.lower()) in ("utf8", "unicode") else None


def _date_style(value: str) -> str | None:
    return "ISO, MDY" if value.partition(",")[0].strip().lower() == "iso" else None


def _duration(value: str) -> str | None:
    """Returns a time in milliseconds, which is PostgreSQL's unit for a number without one."""
    parts = _DURATION.fullmatch(value.strip())
    milliseconds = round(float(parts[1]) * _UNITS_MS[parts[2] or "ms"]) if parts else -1
    return str(milliseconds) if 0 <= milliseconds < 1 << 31 else None


@cache
def _zones() -> Mapping[str, str]:
    return {name.lower(): name for name in time_zones()}


def _zone(value: str) -> str | None:
    offset = _OFFSET.fullmatch(value.strip())
    west = int(offset[1]) if offset and offset[1] else -int(offset[2]) if offset else 0
    return _zones().get(f"etc/gmt{west:+}" if offset else value.strip().lower())


_READ_COMMITTED: Final = _only("read committed", "read uncommitted")
_SETTINGS: Final = (
    ClientSetting("application_name", "", str, is_reported=True),
    ClientSetting("bytea_output", "hex", _only("hex")),
    ClientSetting("client_encoding", "UTF8", _encoding, is_reported=True),
    ClientSetting("client_min_messages", "notice", str),
    ClientSetting("DateStyle", "ISO, MDY", _date_style, is_reported=True),
    ClientSetting("default_transaction_deferrable", "off", _off),
    ClientSetting("default_transaction_isolation", "read committed", _READ_COMMITTED),
    ClientSetting("default_transaction_read_only", "on", _on, is_reported=True),
    ClientSetting("extra_float_digits", "1", lambda value: value if value in ("1", "2", "3") else None),
    ClientSetting("idle_in_transaction_session_timeout", "0", _only("0")),
    ClientSetting("integer_datetimes", "on", _on, is_reported=True),
    ClientSetting("IntervalStyle", "postgres", _only("postgres"), is_reported=True),
    ClientSetting("is_superuser", "off", _off, is_reported=True),
    ClientSetting("lock_timeout", "0", _duration),
    ClientSetting("max_identifier_length", "63", _only("63")),
    ClientSetting("max_index_keys", "32", _only("32")),
    ClientSetting("search_path", "main", _search_path),
    ClientSetting("server_encoding", "UTF8", _only("UTF8"), is_reported=True),
    ClientSetting("server_version", VERSION, _only(VERSION), is_reported=True),
    ClientSetting("server_version_num", "90600", _only("90600")),
    ClientSetting("standard_conforming_strings", "on", _on, is_reported=True),
    ClientSetting("statement_timeout", "0", _duration),
    ClientSetting("TimeZone", "UTC", _zone, is_reported=True),
    ClientSetting("transaction_deferrable", "off", _off),
    ClientSetting("transaction_isolation", "read committed", _READ_COMMITTED),
    ClientSetting("transaction_read_only", "on", _on),
)
_BY_NAME: Final = {setting.name.lower(): setting for setting in _SETTINGS}


Snapshot = tuple[Mapping[str, str], Mapping[str, str]]
"""The changes by SET and by SET LOCAL at a moment."""


class ClientSettings:
    """The settings of a client: their first values, and the changes by SET and by SET LOCAL."""

    def __init__(self, started: Mapping[str, str]) -> None:
        """`started` are the values of a client's start message, to which RESET returns. Raises Refused."""
        self._first = {setting.name: setting.first for setting in _SETTINGS}
        self._changed: dict[str, str] = {}
        self._local: dict[str, str] = {}
        self._reported: dict[str, str] = {}
        for name, value in started.items():
            self.set(name, value)
        self._first, self._changed = dict(self.values), {}

    @property
    def values(self) -> Mapping[str, str]:
        """The values by the names of the settings."""
        return {**self._first, **self._changed, **self._local}

    def set(self, name: str, value: str | None, *, is_local: bool = False) -> None:
        """Changes a setting; None resets it. Raises Refused if the value would not take effect."""
        setting = _BY_NAME.get(name.lower())
        if setting is None:
            raise Refused("42704", f"the setting {name} does not exist here")
        accepted = self._first[setting.name] if value is None else setting.accepted(value)
        if accepted is None:
            raise Refused("22023", f"{setting.name} cannot be set to {value!r} here")
        if not is_local:
            self._local.pop(setting.name, None)
        (self._local if is_local else self._changed)[setting.name] = accepted

    def reset_all(self) -> None:
        """Resets all settings."""
        self._changed, self._local = {}, {}

    def end_transaction(self) -> None:
        """Ends the changes of SET LOCAL."""
        self._local = {}

    def snapshot(self) -> Snapshot:
        """Returns the changes, for `restore`."""
        return dict(self._changed), dict(self._local)

    def restore(self, snapshot: Snapshot) -> None:
        """Undoes the changes since `snapshot`."""
        self._changed, self._local = dict(snapshot[0]), dict(snapshot[1])

    def unreported(self) -> Mapping[str, str]:
        """Returns the changed values to send to the client; each change once."""
        values = self.values
        reported = {setting.name: values[setting.name] for setting in _SETTINGS if setting.is_reported}
        changed = {name: value for name, value in reported.items() if self._reported.get(name) != value}
        self._reported = reported
        return changed
