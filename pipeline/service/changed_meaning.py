"""Settings that give the columns of a warehouse their meaning: what a start changes of them, and when it is refused."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from pipeline.errors import SetUpError
from pipeline.settings.model import Settings
from pipeline.tables.opening import Opening

_KINDS: Final = "schemas.mapping.kinds"
_FIELDS: Final = frozenset(f"schemas.mapping.{name}" for name in ("user", "time", "kind", "page"))
"""With another field under one of these names, one column has two meanings."""


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


def changes(before: Opening, now: Opening) -> dict[str, str]:
    """Returns for each changed setting the sentence with both values; empty if `before` did not record them."""
    pairs = {name: (old, (now.meaning or {}).get(name, old)) for name, old in (before.meaning or {}).items()}
    return {
        name: f"{name} was {_text(old)} and is now {_text(new)}" for name, (old, new) in pairs.items() if old != new
    }


def require_same_meaning(before: Opening, now: Opening, warehouse: str) -> None:
    """Raises SetUpError if a column would have two meanings. A kind may be added or removed, but mean nothing else."""
    known, given = ((opening.meaning or {}).get(_KINDS, {}) for opening in (before, now))
    mixing = _FIELDS | ({_KINDS} if any(given.get(value, kind) != kind for value, kind in known.items()) else set())
    if mixed := [sentence for name, sentence in changes(before, now).items() if name in mixing]:
        raise SetUpError(
            f"{', '.join(mixed)}: columns of {warehouse} would have two meanings. Set it as it was, or use a new "
            "warehouse (docs/reprocessing.md), or set schemas.on_change to record, which records the change and goes on"
        )


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name}={meaning}" for name, meaning in sorted(value.items())) or "empty"
    return "not set" if value is None else str(value) or "empty"
