"""Pane, partition, check and flags in one number: the narrower a row, the cheaper it is to look up, keep and send."""

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from pipeline import columns as c
from pipeline.event_time.checks import Check
from pipeline.fold.grouping_sets import Groupings

GROUP: Final = "packed"
"""The column of the number."""
_CHECKS: Final = max(Check) + 1
"""How many codes checks have."""


def packed(pane: Column, partitions: int, flags: Sequence[str]) -> Column:
    """The number: pane, partition, check and flags, of which each is true or not."""
    found = (pane * partitions + F.col(c.PARTITION)) * _CHECKS + F.col(c.CHECK)
    bits = [F.expr(f"cast(coalesce({flag}, false) AS int)") * (1 << place) for place, flag in enumerate(flags)]
    return reduce(operator.add, bits, found * (1 << len(flags))) if flags else found


def unpacked(grid: Groupings, partitions: int) -> list[Column]:
    """The parts of the number; a pane is null for what no pane has."""
    flags, found = 1 << len(grid.flags), F.col(GROUP)
    check = (F.expr(f"{GROUP} div {flags}") % _CHECKS).cast("int")
    partition = (F.expr(f"{GROUP} div {flags * _CHECKS}") % partitions).cast("int")
    pane = F.expr(f"{GROUP} div {flags * _CHECKS * partitions}") * grid.pane_ms - grid.shift_ms
    return [
        (found % flags).cast("int").alias(c.FLAGS),
        check.alias(c.CHECK),
        partition.alias(c.PARTITION),
        F.when(check <= int(Check.PARTLY_LATE), pane).alias(c.PANE_START),
    ]


def unpacked_rows(rows: pa.Table, grid: Groupings, partitions: int) -> pa.Table:
    """The same of rows that the driver has: with the parts in the place of the number."""
    # No part is below zero, so it does not matter how a division rounds.
    rest, flags = np.divmod(rows[GROUP].to_numpy(), 1 << len(grid.flags))
    rest, checks = np.divmod(rest, _CHECKS)
    panes, of_partition = np.divmod(rest, partitions)
    starts = pa.array(panes * grid.pane_ms - grid.shift_ms, mask=checks > int(Check.PARTLY_LATE))
    ints = {c.FLAGS: flags, c.CHECK: checks, c.PARTITION: of_partition}
    parts = {name: pa.array(values.astype(np.int32)) for name, values in ints.items()}
    return pa.table(
        {**parts, c.PANE_START: starts, **{name: rows[name] for name in rows.column_names if name != GROUP}}
    )


def repacked(grid: Groupings, partitions: int) -> Column:
    """The number of a duplicate: of its partition, and without a pane and flags."""
    flags = 1 << len(grid.flags)
    partition = F.expr(f"{GROUP} div {flags * _CHECKS}") % partitions
    return (partition * _CHECKS + int(Check.DUPLICATE)) * flags
