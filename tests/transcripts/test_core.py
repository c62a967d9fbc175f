"""The pure core satisfies every transcript, and agrees with the reference model on random ones. No Spark, no broker."""

from collections.abc import Mapping

import pytest
from hypothesis import settings

from tests.support.cases import case
from tests.support.seeds import SEED
from tests.transcripts import transcript_files
from tests.transcripts.core_player import CorePlayer
from tests.transcripts.model import Model
from tests.transcripts.random_transcript import random_transcript
from tests.transcripts.transcript import Row, RowKey, Tables, Transcript
from tests.transcripts.transcript_files import subjects, transcripts, transcripts_of
from tests.transcripts.windows import NONE

FOUND = [310, 511_190_021]
"""Seeds of random transcripts on which core and model differed."""


@pytest.mark.parametrize("subject", subjects())
def test_the_core_does_what_transcripts_and_model_say(subject: str) -> None:
    for transcript in transcripts_of(subject):
        core, model = CorePlayer(transcript), Model(transcript)
        before: Tables = {}
        for step in transcript.steps:
            with case(transcript.name):
                seen = core.play(step)
                assert seen == model.play(step)
                transcript_files.check(step, model.transcript, before, seen)
                assert_equal_states(core, model)
                before = seen.tables


@pytest.mark.slow
def test_the_core_agrees_with_the_model_on_random_transcripts() -> None:
    for transcript in random_ones():
        core, model = CorePlayer(transcript), Model(transcript)
        for number, step in enumerate(transcript.steps):
            assert core.play(step) == model.play(step), f"{transcript.name}, step {number}"
            assert_equal_states(core, model)


@pytest.mark.slow
def test_one_publication_of_several_batches_publishes_what_one_after_each_batch_does() -> None:
    for transcript in [*transcripts(), *random_ones()]:
        core, model = CorePlayer(transcript, publishes_late=True), Model(transcript)
        for step in transcript.steps:
            core.take(step)
            model.take(step)
        core.publish()
        assert of_reports(core.tables) == of_reports(model.tables()), transcript.name


def random_ones() -> list[Transcript]:
    """Returns other random transcripts in each run, and some that found a difference."""
    first = SEED * 1_000
    return [random_transcript(seed) for seed in (*FOUND, *range(first, first + settings().max_examples * 3))]


def of_reports(tables: Tables) -> dict[str, Mapping[RowKey, Row]]:
    """Leaves out totals, which are written with all events up to their turn."""
    return {name: rows for name, rows in tables.items() if name != "user_totals"}


def assert_equal_states(core: CorePlayer, model: Model) -> None:
    """Compares the highest event time of each partition, and the counts of open windows where they are exact.

    The state of a report has windows for the events of all reports.
    """
    newest = [None if partition.newest == NONE else partition.newest for partition in model.partitions]
    assert core.newest == newest
    [report, *others] = model.transcript.reports
    if others or report.where or report.window.keys() & {"gap", "count"}:
        return
    windows = [window for (name, _), among in model.windows.items() if name == report.name for window in among]
    ends = {window.end for window in windows if window.end > model.closed_until(report)}
    assert core.open_windows == {report.name: len(ends)}
