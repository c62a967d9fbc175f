"""The opening of an epoch, stored in the ledger rows that open it, so that readers need no settings.

It names the format of the warehouse, and the version that wrote it.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import version
from typing import Any, Final, Self

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time import rules
from tidemark.pipeline.event_time.dimensions import Dimension, Type
from tidemark.pipeline.event_time.field_measures import FieldMeasure, Function
from tidemark.pipeline.event_time.policy import AllIdle, JudgedBy, Policy, TimeOf
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import STRATEGIES
from tidemark.pipeline.event_time.user_totals import UserTotals
from tidemark.pipeline.event_time.windows.kinds import KINDS
from tidemark.pipeline.measures import MEASURES
from tidemark.pipeline.pseudonyms import Pseudonyms

FORMAT: Final = 2
"""The format of warehouses that this version writes. A change that older versions would misread has a new number.

In format 2 events may be of other kinds than visits and clicks, and `panes` has more columns: a version that does not
know them cannot append.
"""
VERSION: Final = version("tidemark-lake")


@dataclass(frozen=True, slots=True)
class Reset:
    """A watermark that was lowered by hand, and the reason."""

    watermark: int
    reason: str


@dataclass(frozen=True, slots=True)
class Opening:
    """The rules of an epoch, and the state at its start; times in milliseconds."""

    policy: Policy
    closed: Mapping[str, int]
    """By report, also for reports that are no longer configured, the end up to which windows were closed before."""
    cluster_id: str | None = None
    topic_id: str | None = None
    last_batch: int = 0
    """The last batch before the epoch, without openings; rows of later batches are uncommitted."""
    reset: Reset | None = None
    pseudonyms: str | None = None
    """The fingerprint of the key of pseudonyms; None if users are stored in clear."""
    process: str | None = None
    """A random id by which the process that opened the epoch recognises it; None for a verb."""
    meaning: Mapping[str, Any] | None = None
    """Settings that give events their meaning, by name; None before they were recorded."""
    written_by: str | None = VERSION
    """The version of Tidemark that opened the epoch; None before versions were recorded."""

    @property
    def format(self) -> int:
        """The format of the warehouse from this epoch on."""
        return FORMAT

    def report(self, name: str) -> Report | None:
        """Returns the report of this name, None if the epoch does not have it."""
        return next((report for report in self.policy.reports if report.name == name), None)

    def to_text(self) -> str:
        """Returns the opening as JSON."""
        plain = {**asdict(self), "format": self.format}
        plain["policy"]["strategy"]["kind"] = self.policy.strategy.kind
        plain["policy"]["reports"] = [report_to_json(report) for report in self.policy.reports]
        return json.dumps(plain)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Returns the opening that `to_text` wrote, also of an older format; its reports have `closed_before_ms`.

        Raises SetUpError for a newer format, and ValueError, KeyError or TypeError if the text is not an opening.
        """
        plain = _migrated(dict(json.loads(text)))
        policy, closed, reset = _policy_from_json(plain["policy"]), plain["closed"], plain["reset"]
        read = {**plain, "policy": with_closed(policy, closed), "reset": Reset(**reset) if reset else None}
        return cls(**_of_fields(cls, read))


def read_opening(text: str) -> Opening:
    """Like `Opening.from_text`, but raises SetUpError for every text that cannot be read."""
    try:
        return Opening.from_text(text)
    except (ValueError, KeyError, TypeError) as error:
        raise SetUpError(
            f"an epoch of the ledger cannot be read ({type(error).__name__}: {error}): the warehouse was written by a "
            f"version before 0.1.0, or is damaged. This is version {VERSION}: run `tidemark verify`, or use a new "
            "warehouse"
        ) from error


def require_known_format(text: str) -> None:
    """Raises SetUpError if a stored opening has a newer format than this version."""
    with suppress(ValueError, KeyError, TypeError):
        Opening.from_text(text)


def _migrated(plain: dict[str, Any]) -> dict[str, Any]:
    """Returns a stored opening in the format of this version. Raises SetUpError if its format is newer."""
    found = int(plain.get("format", 0))
    if found > FORMAT:
        writer = plain.get("written_by")
        raise SetUpError(
            f"the warehouse has format {found}, written by version {writer}; this is version {VERSION}, which reads "
            f"formats up to {FORMAT}. Install version {writer} or later"
        )
    for number in range(found, FORMAT):
        plain = _STEPS[number](plain)
    return plain


def _from_0(plain: dict[str, Any]) -> dict[str, Any]:
    """Warehouses of versions before 0.1.0 did not record their format."""
    return {"written_by": None, **plain}


def _from_1(plain: dict[str, Any]) -> dict[str, Any]:
    """In format 1 no event is of another kind: `Policy` has that as a default."""
    return plain


_STEPS: Final[Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]]] = {0: _from_0, 1: _from_1}
"""The migrations: each makes an opening of the next format."""


_LATER: Final = {"dimensions": ("personal", "top"), "field_measures": ("quantiles", "most")}
"""Settings that are stored only if they are set, so that the definition of an older version remains equal."""


def with_closed(policy: Policy, closed: Mapping[str, int]) -> Policy:
    """Returns the policy with `closed_before_ms` of each report, from ends by report name in milliseconds."""
    reports = (
        replace(report, closed_before_ms=closed.get(report.name, rules.NO_WATERMARK)) for report in policy.reports
    )
    return replace(policy, reports=tuple(reports))


def report_to_json(report: Report) -> dict[str, Any]:
    """Returns a report as JSON, with the kind of its windows and without `closed_before_ms`."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(report)))
    del plain["closed_before_ms"]
    for name, later in _LATER.items():
        plain[name] = [{key: value for key, value in each.items() if value or key not in later} for each in plain[name]]
        if not plain[name]:
            del plain[name]
    plain["windows"]["kind"] = report.windows.kind
    return plain


def report_from_json(plain: Mapping[str, Any]) -> Report:
    """Returns the report that `report_to_json` wrote. Raises SetUpError for what only later versions know."""
    windows = dict(plain["windows"])
    kind = windows.pop("kind")
    _require_known("windows", [kind], KINDS)
    own = tuple(map(_measure_from_json, plain.get("field_measures", ())))
    known = {*MEASURES, *(name for measure in own for name in measure.measure_names)}
    _require_known("measure", plain["measures"], known)
    _require_known("setting", plain, [field.name for field in fields(Report)])
    lists = {name: tuple(plain[name]) for name in ("keys", "measures")}
    lists |= {"dimensions": tuple(map(_dimension_from_json, plain.get("dimensions", ()))), "field_measures": own}
    return Report(**{**plain, **lists, "windows": KINDS[kind](**windows)})


def _dimension_from_json(plain: Mapping[str, Any]) -> Dimension:
    _require_known("setting of a dimension", plain, [field.name for field in fields(Dimension)])
    _require_known("type of a dimension", [plain["type"]], [*Type])
    return Dimension(**{**plain, "type": Type(plain["type"])})


def _measure_from_json(plain: Mapping[str, Any]) -> FieldMeasure:
    _require_known("setting of a measure", plain, [field.name for field in fields(FieldMeasure)])
    _require_known("function of a measure", [plain["function"]], [*Function])
    quantiles = tuple(plain.get("quantiles", ()))
    return FieldMeasure(**{**plain, "function": Function(plain["function"]), "quantiles": quantiles})


def _require_known(what: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise SetUpError(
                f"a report of the warehouse has the {what} {name!r}, which version {VERSION} does not know: "
                "install the version that wrote it"
            )


def _policy_from_json(plain: Mapping[str, Any]) -> Policy:
    strategy = dict(plain["strategy"])
    read = {
        "strategy": STRATEGIES[strategy.pop("kind")](**strategy),
        "reports": tuple(map(report_from_json, plain["reports"])),
        "totals": UserTotals(**plain["totals"]) if plain["totals"] else None,
        "time_of": TimeOf(plain["time_of"]),
        "all_idle": AllIdle(plain["all_idle"]),
        "judged": JudgedBy(plain.get("judged", JudgedBy.BATCH)),
    }
    return Policy(**_of_fields(Policy, {**plain, **read}))


def _of_fields(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values that the dataclass `kind` has fields for: a later version may have stored others."""
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in values.items() if name in names}


def require_key(opening: Opening, pseudonyms: Pseudonyms | None, warehouse: str) -> None:
    """Raises SetUpError unless users have pseudonyms of the same key as before, or, as before, no pseudonyms."""
    now = pseudonyms.fingerprint if pseudonyms else None
    if opening.pseudonyms == now:
        return
    if now is None:
        found = "users by pseudonyms, but privacy.pseudonym_key_file is not set: name the file with its key"
    elif opening.pseudonyms is None:
        found = "users in clear: unset privacy.pseudonym_key_file"
    else:
        found = "users by pseudonyms of another key than that of privacy.pseudonym_key_file: name the file with its key"
    raise SetUpError(f"the warehouse {warehouse} has {found}, or use a new warehouse")
