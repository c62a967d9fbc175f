"""Pane, partition, check and flags in one number: narrow rows are cheaper to look up, to cache and to send."""

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.checks import Check, is_counted
from tidemark.pipeline.fold.grouping_sets import Groupings

GROUP: Final = "packed"
"""The column of the number."""
CHECKS: Final = max(Check) + 1
"""The number of checks: the radix of a check."""


def packed(pane: Column, partitions: int, flags: Sequence[str]) -> Column:
    """Returns the number for a pane's index, the record's partition and check, and the SQL conditions `flags`.

    Example: with 3 partitions, 18 checks and 1 flag, pane 7, partition 2, check 0 and a flag that is true give
    `((7 * 3 + 2) * 18 + 0) * 2 + 1`, 829.
    """
    number = (pane * partitions + F.col(c.PARTITION)) * CHECKS + F.col(c.CHECK)
    bits = [F.expr(f"cast(coalesce({flag}, false) AS int)") * (1 << index) for index, flag in enumerate(flags)]
    return reduce(operator.add, bits, number * (1 << len(flags))) if flags else number


def unpacked(groupings: Groupings, partitions: int) -> list[Column]:
    """Returns flags, check, partition and the pane's start in milliseconds (null for rejected records) as columns."""
    flags, number = 1 << len(groupings.flags), F.col(GROUP)
    check = (F.expr(f"{GROUP} div {flags}") % CHECKS).cast("int")
    partition = (F.expr(f"{GROUP} div {flags * CHECKS}") % partitions).cast("int")
    pane = F.expr(f"{GROUP} div {flags * CHECKS * partitions}") * groupings.pane_ms - groupings.shift_ms
    return [
        (number % flags).cast("int").alias(c.FLAGS),
        check.alias(c.CHECK),
        partition.alias(c.PARTITION),
        F.when(is_counted(check), pane).alias(c.PANE_START),
    ]


def unpacked_rows(rows: pa.Table, groupings: Groupings, partitions: int) -> pa.Table:
    """Returns rows on the driver with the columns of `unpacked` instead of the packed column `GROUP`."""
    # No part is negative, so the direction in which a division rounds does not matter.
    rest, flags = np.divmod(rows[GROUP].to_numpy(), 1 << len(groupings.flags))
    rest, checks = np.divmod(rest, CHECKS)
    panes, partition = np.divmod(rest, partitions)
    starts = pa.array(panes * groupings.pane_ms - groupings.shift_ms, mask=~is_counted(checks))
    ints = {c.FLAGS: flags, c.CHECK: checks, c.PARTITION: partition}
    parts = {name: pa.array(values.astype(np.int32)) for name, values in ints.items()}
    others = {name: rows[name] for name in rows.column_names if name != GROUP}
    return pa.table({**parts, c.PANE_START: starts, **others})


def repacked(groupings: Groupings, partitions: int) -> Column:
    """Returns the number for the record as a duplicate: its partition, pane 0 and no flags."""
    flags = 1 << len(groupings.flags)
    partition = F.expr(f"{GROUP} div {flags * CHECKS}") % partitions
    return (partition * CHECKS + int(Check.DUPLICATE)) * flags
