"""How far the panes of a report are missing: its windows up to there stay closed, whatever a reset allows.

Without their panes they would count a part of their events.
"""

from collections.abc import Iterable, Sequence

from deltalake import DeltaTable

from tidemark.pipeline.results.result_table import latest_end
from tidemark.pipeline.tables.opening import Opening
from tidemark.pipeline.tables.schemas import PANES, find_table
from tidemark.pipeline.tables.transactions import DROPPED_APP, MERGED_APP, version_of


def missing_until(panes: DeltaTable | None, name: str) -> int:
    """Returns the end, in ms, of the last window of a report that may lack panes; 0 without such a window."""
    return max(version_of(panes, f"{app}{name}") for app in (DROPPED_APP, MERGED_APP))


def will_be_missing_until(warehouse: str, names: Iterable[str], openings: Sequence[Opening]) -> dict[str, int]:
    """Returns `missing_until` by report, also of panes that the next start will drop.

    The start that took a report out may have died before it dropped them. `openings` are those since the last batch.
    """
    panes = find_table(PANES.name, warehouse)
    always = set.intersection(*({report.name for report in opening.policy.reports} for opening in openings))
    ends = {name: missing_until(panes, name) for name in names}
    for name in ends.keys() - always:
        if table := find_table(name, warehouse):
            ends[name] = max(ends[name], latest_end(table))
    return ends
