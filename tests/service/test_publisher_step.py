"""The publisher's next step, case by case."""

import pytest

from tidemark.pipeline.service.publisher_step import Maintain, Publish, PublisherState, Sleep, Step, Stop, next_step

NOW_S = 100.0


@pytest.mark.parametrize(
    ("state", "step"),
    [
        (PublisherState(), Sleep()),
        (PublisherState(unpublished=1), Publish()),
        (PublisherState(maintenance_after=7), Maintain()),
        # Maintenance waits until its batch is published, and then takes turns with publications.
        (PublisherState(unpublished=1, maintenance_after=7), Publish()),
        (PublisherState(unpublished=1, maintenance_after=7, published=6), Publish()),
        (PublisherState(unpublished=1, maintenance_after=7, published=7), Maintain()),
        (PublisherState(unpublished=1, maintenance_after=7, published=9), Maintain()),
        # A refused publication is attempted again after its pause, and nothing comes in between.
        (PublisherState(unpublished=1, retry_at_s=NOW_S + 4), Sleep(4)),
        (PublisherState(unpublished=1, maintenance_after=7, published=7, retry_at_s=NOW_S + 4), Sleep(4)),
        (PublisherState(unpublished=1, maintenance_after=7, retry_at_s=NOW_S), Publish()),
        # The end comes before everything else.
        (PublisherState(is_ending=True), Stop()),
        (PublisherState(unpublished=1, maintenance_after=7, retry_at_s=NOW_S + 4, is_ending=True), Stop()),
    ],
)
def test_next_step(state: PublisherState, step: Step) -> None:
    assert next_step(state, NOW_S) == step
