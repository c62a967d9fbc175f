"""Each report as its table has it: how far it is published, and what has fired and closed by then."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pipeline.tables.policies import report_of
from pipeline.time import rules
from pipeline.time.report import Report
from pipeline.verify.tables import CORRECTIONS_APP, Tables

_MADE_AS: Final = "tidemark.report"


@dataclass(frozen=True, slots=True)
class Shown:
    """A report; times in milliseconds."""

    report: Report
    published: int
    """The batch up to which it is published."""
    watermark: int
    """The watermark after that batch."""
    highest: int
    """The highest one up to that batch: where an epoch began with a lower one, what had fired stays."""
    closed: int
    """Windows that end no later are closed, as of the newest batch."""
    corrected: int
    """The last correction that its table has."""
    is_kept: bool
    """Whether the newest epoch still has it."""
    epochs: tuple[int, ...]
    """The epochs that have it, if from its first one on it was never left out."""

    @property
    def name(self) -> str:
        """The table."""
        return self.report.name


def shown_reports(tables: Tables) -> list[Shown]:
    """Every report whose table can be read."""
    highest = {
        row["epoch"]: rules.NO_WATERMARK if row["watermark"] is None else row["watermark"]
        for row in tables.ask("SELECT epoch, max(watermark) AS watermark FROM ledger GROUP BY epoch").to_pylist()
    }
    names = dict.fromkeys(report.name for one in tables.openings.values() for report in one.policy.reports)
    return [_shown(name, tables, highest) for name in names if name in tables.handles]


def definition(name: str, tables: Tables) -> Report:
    """What a result table was made for. Raises ValueError, KeyError or TypeError where it does not say so."""
    told = tables.handles[name].metadata().configuration[_MADE_AS]
    return report_of({**json.loads(told), "name": name})


def _shown(name: str, tables: Tables, highest: Mapping[int, int]) -> Shown:
    published = tables.published(name)
    reached = tables.ask(
        f"SELECT max(watermark) AS highest, max(CASE WHEN batch = {published} THEN watermark END) AS watermark "
        f"FROM ledger WHERE batch <= {published}"
    ).to_pylist()[0]
    epochs = sorted(tables.openings)
    having = [epoch for epoch in epochs if tables.openings[epoch].report(name)]
    is_kept = having[-1:] == epochs[-1:]
    return Shown(
        report=definition(name, tables),
        published=published,
        watermark=_known(reached["watermark"]),
        highest=_known(reached["highest"]),
        closed=max((_closed(name, tables, epoch, highest) for epoch in having), default=rules.NO_WATERMARK),
        corrected=tables.handles[name].transaction_version(CORRECTIONS_APP) or 0,
        is_kept=is_kept,
        epochs=tuple(having) if having == epochs[len(epochs) - len(having) :] else (),
    )


def _closed(name: str, tables: Tables, epoch: int, highest: Mapping[int, int]) -> int:
    """What an epoch has closed of a report, or found closed."""
    opening = tables.openings[epoch]
    report = opening.report(name)
    lateness = report.allowed_lateness_ms if report else 0
    return max(highest[epoch] - lateness, opening.closed.get(name, rules.NO_WATERMARK))


def _known(watermark: int | None) -> int:
    return rules.NO_WATERMARK if watermark is None else watermark
