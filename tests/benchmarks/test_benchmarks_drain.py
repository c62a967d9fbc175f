"""Who is compared with whom; and one small run of the real thing."""

import json
from pathlib import Path

import pytest

from benchmarks.cli import main
from benchmarks.contestants import Contestant, Job, contestants
from benchmarks.drain import Plan, Result, plan
from benchmarks.drain_report import ratios, render
from benchmarks.options import parse
from benchmarks.task import Drain
from tests.support.processes import SMALL_DRIVER
from tests.support.seeds import in_turn


def result(job: Job, *seconds: float, batch: int | None = None) -> Result:
    """Makes a contestant's rounds of a cold drain and a drain of each of `seconds`."""
    return Result(Contestant(job, job.name, batch), 1000, [[Drain(99.0, 1.0, 5), Drain(s, 2.0, 5)] for s in seconds])


def test_everyone_is_compared_at_their_best_by_the_median_of_their_last_drains() -> None:
    results = [
        result(Job.TUNED, 10.0, batch=1),
        result(Job.TUNED, 5.0, 4.0, 50.0, batch=2),
        result(Job.DEFAULTS, 50.0),
        result(Job.OURS, 2.5),
    ]
    assert ratios(results) == {"tuned": 2.0, "defaults": 20.0}
    assert render(results, 5).row_count == len(results)


def test_without_a_peer_there_is_nothing_to_compare() -> None:
    assert ratios([result(Job.OURS, 2.5)]) == {}


def test_the_tuned_textbook_runs_at_every_batch_size_and_in_variants() -> None:
    found = contestants((Job.TUNED, Job.OURS), (1_000_000, 3_000_000), (None,), textbook_variants=True)
    assert len({contestant.title for contestant in found}) == len(found)
    assert [c.batch for c in found if c.job is Job.TUNED and not c.conf] == [1_000_000, 3_000_000]
    assert sum(bool(c.conf) for c in found) == 2
    without = contestants((Job.TUNED, Job.OURS), (1_000_000, 3_000_000), (None,))
    assert without == [c for c in found if not c.conf]


def test_a_long_drain_is_repeated_less_often_unless_it_is_said_how_often() -> None:
    assert plan(9, 50_000, None, None) == Plan(9, drains=6, rounds=2)
    assert plan(9, 5_000_000, None, None) == Plan(9, drains=2, rounds=2)
    assert plan(9, 5_000_000, 4, 1) == Plan(9, drains=4, rounds=1)


def test_explicit_options_override_quick() -> None:
    options = parse(["--quick", "--events", "1000", "--only", "drain,growth", "--jobs", "ours"])
    assert (options.events, options.drains, options.only, options.jobs) == (1000, 2, ("drain", "growth"), (Job.OURS,))


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--only", "drains"])
    assert "there is no part drains; choose from drain, start, freshness" in capsys.readouterr().err


def test_the_warm_up_ends_with_a_slice_so_that_every_slice_after_it_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert not parse([]).warm_up % parse([]).slice
    with pytest.raises(SystemExit):
        parse(["--warm-up", "75s", "--slice", "1m"])
    assert "--warm-up must be a multiple of --slice" in capsys.readouterr().err


@pytest.mark.jvm
@pytest.mark.broker
@pytest.mark.long
@in_turn(3, 4)
def test_a_small_drain_is_measured_verified_and_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALL_DRIVER.items():
        monkeypatch.setenv(name, value)
    options = "--only drain --jobs ours --events 5000 --drains 1 --backlog-users 50 --repeat 1"
    assert main(options.split(), tmp_path) == 0
    document = json.loads(next(tmp_path.glob("*.json")).read_text())
    assert list(document["drain"]) == ["50"]
    ours, three, ten, eight, site = document["drain"]["50"]["contestants"]
    others = {"three": three, "ten": ten, "eight": eight, "site": site}
    ratios = {f"{name}_reports": one["rate"] / ours["rate"] for name, one in others.items()}
    assert document["drain"]["50"]["ratios"] == ratios
    [[drain]] = ours["rounds"]
    assert drain["notes"]["totals"]["records"] == 5000
    assert drain["window_rows"] == drain["notes"]["totals"]["page_views"] > 0
    assert ours["rate"] > 0
