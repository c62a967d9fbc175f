"""A brief soak with a kill at random times, and the comparison that finds growth in an hour."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.soak import GROWTH, Sample, Soak, main, ratios
from tests.support.seeds import SEED, in_turn
from tests.support.summary import FILE, Summary

FLAT = Sample(minute=0, age=0, batch_s=1, batch_cpu_s=1, java_mb=500, python_mb=200, files_by_table={"panes": 9})


def hour(growing: str = "", factor: float = 1.0) -> Soak:
    """Returns an hour with a sample each minute and lives of ten minutes; a measurement grows after 20 minutes."""
    soak = Soak(Path(), (), 0, starts=[(minute, 20) for minute in range(0, 60, 10)])
    for minute in range(60):
        grown = factor if minute >= 20 else 1.0
        sample = replace(FLAT, minute=minute, age=minute % 10)
        if growing == "files":
            sample = replace(sample, files_by_table={"panes": round(9 * grown)})
        elif growing:
            sample = replace(sample, **{growing: getattr(sample, growing) * grown})
        soak.samples.append(sample)
    return soak


def test_a_flat_hour_has_no_growth() -> None:
    assert ratios(hour(), 60) == dict.fromkeys(
        ("batch_s", "batch_cpu_s", "java_mb", "python_mb", "files", "start_s"), 1.0
    )


@pytest.mark.parametrize("name", ["batch_s", "batch_cpu_s", "java_mb", "python_mb", "files"])
def test_what_grows_by_a_third_is_found(name: str) -> None:
    found = ratios(hour(name, 4 / 3), 60)
    assert [grown for grown, ratio in found.items() if ratio > GROWTH] == [name]


def test_starts_that_take_longer_are_found_and_a_life_while_java_is_cold_compares_no_batches() -> None:
    soak = hour()
    soak.starts = [(minute, 20 + minute) for minute, _ in soak.starts]
    assert ratios(soak, 60)["start_s"] > GROWTH
    soak.samples = [replace(sample, batch_s=None, batch_cpu_s=None) for sample in soak.samples]
    assert ratios(soak, 60).keys() == {"java_mb", "python_mb", "files", "start_s"}


@pytest.mark.jvm
@pytest.mark.broker
@pytest.mark.long
@in_turn(3, 4)
def test_a_service_that_is_killed_while_events_arrive_has_each_of_them_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(FILE, str(tmp_path / "summary.json"))
    brief = ("--minutes", "0.3", "--kill-every", "0.2", "--rate", "300")
    assert main([*brief, "--seed", str(SEED)]) == 0
    assert f"--seed {SEED}" in " ".join(capsys.readouterr().out.split())
    summary = Summary.read(tmp_path / "summary.json")
    assert summary is not None
    assert (summary.count >= 1, summary.failures) == (True, {})
