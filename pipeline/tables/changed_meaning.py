"""Settings that give the columns of a warehouse their meaning: which have changed, and when that is refused."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.batch import LedgerRow
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.opening import Opening

_KINDS: Final = "schemas.mapping.kinds"
FIELDS: Final = frozenset(f"schemas.mapping.{name}" for name in ("user", "time", "kind", "page"))
"""With another field under one of these names, one column has two meanings."""
LETTERS: Final = FIELDS | {"schemas.format"}
"""With another value of these settings, dead letters are read otherwise than when they were stored."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """The settings by which events get their meaning."""

    values: Mapping[str, Any]
    """Values by the name of the setting."""
    may_change: bool
    """Whether columns may have another meaning from now on."""

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Returns the meaning of events by `settings`."""
        schemas = settings.schemas
        mapping = {f"schemas.mapping.{name}": value for name, value in schemas.mapping.model_dump().items()}
        values = {"schemas.format": schemas.format, **mapping, "deduplicate": settings.deduplicate}
        return cls(values, schemas.on_change == "record")


def changes(before: Opening, values: Mapping[str, Any]) -> dict[str, str]:
    """Returns for each changed setting the sentence with both values; empty if `before` did not record them."""
    pairs = {name: (old, values.get(name, old)) for name, old in (before.meaning or {}).items()}
    return {
        name: f"{name} was {_text(old)} and is now {_text(new)}" for name, (old, new) in pairs.items() if old != new
    }


def require_same_meaning(
    rows: Sequence[LedgerRow], before: Opening, meaning: Meaning, warehouse: str, names: Collection[str] = FIELDS
) -> None:
    """Raises SetUpError if one of the settings in `names` has changed, or a kind has another meaning, unless it may.

    `rows` are those of the ledger's newest batch. Without an event nothing has a meaning yet. Kinds may come and go;
    with `LETTERS` they may only come, because stored events may have any of them.
    """
    has_events = any(row.watermark is not None or row.max_event_time is not None for row in rows)
    if meaning.may_change or not has_events:
        return
    known, given = ((values or {}).get(_KINDS, {}) for values in (before.meaning, meaning.values))
    unmapped = {} if names is LETTERS else known
    differ = any({**unmapped, **given}.get(value) != kind for value, kind in known.items())
    mixing = {*names, *([_KINDS] if differ else [])}
    if mixed := [sentence for name, sentence in changes(before, meaning.values).items() if name in mixing]:
        raise SetUpError(
            f"{', '.join(mixed)}: columns of {warehouse} would have two meanings. Set it as it was, or use a new "
            "warehouse (docs/operations.md#reprocess), or set schemas.on_change to record, which records the change and"
            " goes on"
        )


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name}={meaning}" for name, meaning in sorted(value.items())) or "empty"
    return "not set" if value is None else str(value) or "empty"
