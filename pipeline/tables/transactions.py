"""The applications of the tables' transaction versions: who sets each, who reads it, and what it excludes.

A transaction version is a number that Delta stores with a commit, under the name of an application. It lands with the
rows of its commit or not at all, and only one of concurrent commits that set the same application can land.
"""

from typing import Final

from deltalake import DeltaTable

PUBLISHED_APP: Final = "tidemark"
"""On a result table: the last published batch. Set by the last commit of each publication. Read by publication (to skip
a batch), starts, count windows, `tidemark erase`, the verifier, and readers that follow the changes: it excludes a
second publication of the batch."""
FENCED_APP: Final = "tidemark-fenced"
"""On result tables, `panes`, `dead_letters` and `event_ids`: the batch that opened the epoch. Set by `take_over`, read
at each commit of a service and by starts: it excludes services of older epochs."""
FENCED_BY_0_1_0_APP: Final = "tidemark"
"""On `panes`, `dead_letters` and `event_ids`: the batch that opened the epoch, if a service of version 0.1.0 opened it,
else 0. Set to 0 by `take_over`: 0.1.0, which also reads `tidemark-fenced` at each commit, does not start on a table
whose `tidemark` is of an older epoch than the ledger. Read like `tidemark-fenced`: it excludes services of older
epochs."""
WRITTEN_APP: Final = "tidemark-written"
"""On `panes`, `dead_letters` and `event_ids`: the last batch that was written to them, committed or not. Set by every
append and by `take_over`. Read by starts and the verifier: it excludes the use of a table from an older copy than the
ledger."""
CLOSED_APP: Final = "tidemark-closed"
"""On a result table: windows that end at or before this time, in milliseconds, are closed and final. Set by
publication, lowered by `take_over` after a reset of the watermark. Read by recovery, corrections, compaction, removal
by age, `tidemark reset-watermark` and the verifier: it excludes these from windows that may still change."""
FILLED_APP: Final = "tidemark-filled"
"""On `user_totals`: the batch up to which panes are in its rows. Set and read by its publication. An empty publication
does not set it, so it may differ from `tidemark`: it excludes that a user who changed is left out."""
CORRECTED_APP: Final = "tidemark-corrections"
"""On result tables and `corrections`: the last correction that was ever added to the table, also if it was erased
since. Set by every commit of corrections and by the publication of `user_totals`. Read by these, by every publication,
starts, `tidemark erase` and the verifier: it excludes that a correction is added twice, and that an id is given
twice."""
AMENDED_APP: Final = "tidemark-amended"
"""On every table that a verb amends: a count of the commits of corrections, erasures, removals by age and fences. Set
and read by `Handle.amending`: only one of concurrent commits of these can land, even with retries."""
REMOVED_APP: Final = "tidemark-removed"
"""On a result table: rows of windows that end at or before this time, in milliseconds, were removed by age. On
`dead_letters`: dead letters of batches up to this batch. Set by `remove_by_age`. Read by it, corrections, `tidemark
reset-watermark`, `tidemark erase`, the dashboard and the verifier: it excludes that a correction recreates the row of a
removed window, and that a reset opens the window."""
ERASED_APP: Final = "tidemark-erased"
"""On every table but `panes` from which a person is erased: a count of erasures. Set by `tidemark erase`. Read by the
metrics of disk traffic, which count its commits as removals. It excludes nothing."""
ERASING_APP: Final = "tidemark-erasing"
"""On `panes`: a hash of the person who is being erased; 0 if no erasure is unfinished. Set by `tidemark erase`, read by
it and the verifier: it excludes the erasure of another person until this erasure is done."""
ERASED_EVENTS_APP: Final = "tidemark-erased-events:"
"""On `panes`, followed by the name of a report: how many of its counted events were erased, in total. Set by `tidemark
erase` with the removal, read by it and the verifier: it excludes that a killed erasure counts events twice."""
COMPACTION_APP: Final = "tidemark-compaction"
"""On `panes`: the batch up to which they were last merged, or removed because their windows are final. Set by
compaction, read by the verifier and the metrics of disk traffic. It excludes nothing."""
MERGED_APP: Final = "tidemark-merged:"
"""On `panes`, followed by the name of a report: windows that end at or before this time, in milliseconds, may lack some
of their panes. Set by compaction, read by `tidemark reset-watermark`, starts and live views: it excludes that these
windows open again."""
DROPPED_APP: Final = "tidemark-dropped:"
"""On `panes`, followed by the name of a report: windows that end at or before this time, in milliseconds, were
published before the panes of the report were removed. Set by the start that takes the report out, read by starts and
live views: it excludes that these windows open again, without their panes."""
FORGOTTEN_BEFORE_APP: Final = "tidemark-forgotten-before"
"""On `event_ids`: ids of events from before this time, in milliseconds, were forgotten. Set by starts and maintenance,
read by `tidemark reset-watermark`: it excludes a reset by which these events may count again."""
FORGOTTEN_APP: Final = "tidemark-forgotten"
"""On `event_ids`: the batch up to which ids were last forgotten. Set by their maintenance. Read by starts and the
verifier: it excludes the use of a table from a newer copy than the ledger."""
VACUUM_APP: Final = "tidemark-vacuum"
"""On any table: when its dead files were last deleted, in seconds since 1970. Set and read by `remove_dead_files`: it
excludes a second deletion within the hour."""


def version_of(table: DeltaTable | None, app: str) -> int:
    """Returns a table's transaction version of an application; 0 without the table or the version."""
    return (table.transaction_version(app) or 0) if table else 0
