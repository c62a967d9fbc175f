"""Everything of one cell: broker, site, service, and the process that a fault is meant for."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from demo.broker import Broker
from demo.standalone import Cluster as Spark
from tests.chaos.lives import POINT, Command, Lives
from tests.chaos.rules import Rule
from tests.chaos.site import Site
from tests.cluster.standalone import executors_of
from tests.support.against_truth import epochs


@dataclass
class Scene:
    """The parts, as faults need them."""

    site: Site
    lives: Lives
    minute: float
    """How many seconds what lasts a minute lasts."""
    broker: Broker | None
    """The site's, where it may be hurt."""
    spark: Spark | None
    """The service's, where it has executors."""
    victim: Command | None = None
    corrector: Command | None = None
    """`tidemark correct`, where the fault is meant for it."""

    @property
    def subject(self) -> Command:
        """The process that comes to the point: a life of the service that may have ended since, or `correct`."""
        assert self.victim is not None, "nothing is on its way to the point"
        return self.victim

    @property
    def own_broker(self) -> Broker:
        """A broker of its own."""
        assert self.broker is not None, "this cell has no broker of its own"
        return self.broker

    def reached(self) -> bool:
        """Whether the process has come to the point."""
        return self.subject.faults.struck(POINT)

    def executors(self) -> list[int]:
        """The process ids of the executors."""
        assert self.spark is not None, "this cell has no executors"
        return executors_of(self.spark)

    def epoch(self) -> int:
        """The newest epoch of the warehouse."""
        return max(epochs(self.lives.warehouse))

    @contextmanager
    def outage(self, rule: Rule) -> Iterator[None]:
        """A lasting rule goes for every process of Tidemark, also for those that begin meanwhile."""
        self.lives.outage = replace(rule, after="-")
        if self.corrector:
            self.lives.now.faults.set([self.lives.outage])
        try:
            yield
        finally:
            self.lives.outage = None
            for command in [*self.lives.lives, *filter(None, [self.corrector])]:
                command.faults.end(rule.name)
