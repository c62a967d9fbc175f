"""A batch of simulated events, and what is known of each."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pyarrow as pa

from producers.arrays import Bools, Ints, Octets


@dataclass(frozen=True)
class Batch:
    """Events in sending order, one entry per event.

    `events` is what to encode; `users` (numbers, index of `Simulator.user_ids`), `visits` and
    `times` (event time, ms) describe them also where the malformed value will not.
    """

    events: pa.RecordBatch
    kinds: Octets
    users: Ints
    visits: Bools
    times: Ints
    partitions: Ints

    def __len__(self) -> int:
        return len(self.kinds)

    def taken(self, places: Ints) -> Self:
        """The events in some places, in that order."""
        return replace(
            self,
            events=self.events.take(pa.array(places)),
            kinds=self.kinds[places],
            users=self.users[places],
            visits=self.visits[places],
            times=self.times[places],
            partitions=self.partitions[places],
        )

    def and_then(self, later: Self) -> Self:
        """Both, one after the other."""
        return replace(
            self,
            events=pa.concat_batches([self.events, later.events]),
            kinds=np.concatenate([self.kinds, later.kinds]),
            users=np.concatenate([self.users, later.users]),
            visits=np.concatenate([self.visits, later.visits]),
            times=np.concatenate([self.times, later.times]),
            partitions=np.concatenate([self.partitions, later.partitions]),
        )
