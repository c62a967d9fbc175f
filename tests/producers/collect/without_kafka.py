"""A collector in this process with a real Kafka client that reaches no broker."""

from collections.abc import Callable

from starlette.applications import Starlette

from tests.producers.collect.collect_client import Asker
from tidemark.producers.broker import Target
from tidemark.producers.collect.app import application
from tidemark.producers.collect.intake import Intake
from tidemark.producers.collect.rates import Rates
from tidemark.producers.collect.refusals import FirstRefusals
from tidemark.producers.collect.request_metrics import Metrics, RequestOutcome
from tidemark.producers.collect.sink import KafkaSink
from tidemark.producers.collect.variety import Variety

SITE = "https://shop.example"
TIMEOUT_MS = 300


def collector(
    pending: int = 100,
    rate: float = 0,
    origins: tuple[str, ...] = (SITE,),
    variety: int = 0,
    *,
    keeps_robots: bool = False,
) -> Intake:
    """A collector whose Kafka is away."""
    sink = KafkaSink(Target("127.0.0.1:1", "clicks", TIMEOUT_MS), pending)
    users, pages = Variety(variety), Variety(variety)
    metrics = Metrics(lambda: len(sink), 100)
    return Intake(sink, Rates(rate), origins, metrics, users, pages, keeps_robots=keeps_robots)


def app(intake: Intake, report: Callable[[str], None] = print) -> Starlette:
    """Returns its application."""
    return application(intake, FirstRefusals(report))


def outcomes(ask: Asker, outcome: RequestOutcome) -> float:
    """Returns the number of requests with an outcome."""
    return ask.metric(f'tidemark_collect_requests_total{{outcome="{outcome}"}}')
