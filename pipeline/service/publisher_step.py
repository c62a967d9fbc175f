"""The next step of the publisher's thread. Pure: times are arguments, in seconds of any one clock."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PublisherState:
    """All that the next step depends on."""

    unpublished: int = 0
    """Batches that are committed and not published."""
    maintenance_after: int | None = None
    """Maintenance that waits until this batch is published; None: no maintenance waits."""
    published: int | None = None
    """The batch up to which was published since the last step of maintenance; None: no publication since."""
    retry_at_s: float | None = None
    """When a publication that the store refused is tried again; None: it did not refuse the last one."""
    is_ending: bool = False
    """Whether the service closes the publisher, or an error has made publishing impossible."""

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to publish and nothing to maintain."""
        return not self.unpublished and self.maintenance_after is None


@dataclass(frozen=True, slots=True)
class Publish:
    """Publishes what has waited longest."""


@dataclass(frozen=True, slots=True)
class Maintain:
    """Does one step of maintenance."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Waits for a change, at most for `seconds`; None: as long as it takes."""

    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """Ends the thread."""


Step = Publish | Maintain | Sleep | Stop


def next_step(state: PublisherState, now_s: float) -> Step:
    """Returns what the publisher does next.

    A publication and a step of maintenance take turns, so that neither waits for more than one of the other. No
    maintenance comes between the attempts of one publication.
    """
    if state.is_ending:
        return Stop()
    if state.retry_at_s is not None and now_s < state.retry_at_s:
        return Sleep(state.retry_at_s - now_s)
    if _is_turn_of_maintenance(state):
        return Maintain()
    return Publish() if state.unpublished else Sleep()


def _is_turn_of_maintenance(state: PublisherState) -> bool:
    if state.maintenance_after is None:
        return False
    return not state.unpublished or (state.published is not None and state.published >= state.maintenance_after)
