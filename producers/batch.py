"""A batch of simulated events, with their properties as arrays."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pyarrow as pa

from tidemark.producers.arrays import Bools, Ints, Octets


@dataclass(frozen=True)
class Batch:
    """Events in sending order, one entry per event.

    `events` are the rows to encode. `users` (indexes into `Simulator.user_ids`), `visits` and `times` (event time, ms)
    hold for malformed events, too, whose values no longer contain them.
    """

    events: pa.RecordBatch
    kinds: Octets
    users: Ints
    visits: Bools
    times: Ints
    partitions: Ints

    def __len__(self) -> int:
        return len(self.kinds)

    def take(self, indices: Ints) -> Self:
        """Returns the events at `indices`, in that order."""
        return replace(
            self,
            events=self.events.take(pa.array(indices)),
            kinds=self.kinds[indices],
            users=self.users[indices],
            visits=self.visits[indices],
            times=self.times[indices],
            partitions=self.partitions[indices],
        )

    def concat(self, later: Self) -> Self:
        """Returns these events followed by those of `later`."""
        return replace(
            self,
            events=pa.concat_batches([self.events, later.events]),
            kinds=np.concatenate([self.kinds, later.kinds]),
            users=np.concatenate([self.users, later.users]),
            visits=np.concatenate([self.visits, later.visits]),
            times=np.concatenate([self.times, later.times]),
            partitions=np.concatenate([self.partitions, later.partitions]),
        )
