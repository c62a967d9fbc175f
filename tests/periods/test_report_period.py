"""`tidemark report --period` writes what `/traffic.json` answers."""

import json
from pathlib import Path

import pytest

from tests.dashboard.scene import Served
from tests.periods.traffic_site import FIRST, SECOND, THIRD, asked, day
from tidemark.pipeline.cli import main

pytestmark = pytest.mark.slow


def test_the_verb_writes_what_the_page_answers(
    served: Served, warehouse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ("--warehouse", str(warehouse))
    assert main(["report", *where, "--period", f"{SECOND}..{SECOND}", "--compare", "previous", "--complete"]) == 0
    assert json.loads(capsys.readouterr().out) == asked(served, f"{day(SECOND)}&compare=previous")
    assert main(["report", *where, "--day", SECOND, "--format", "csv", "--output", str(tmp_path / "day.csv")]) == 0
    assert (
        main(["report", *where, "--day", SECOND, "--format", "parquet", "--output", str(tmp_path / "day.parquet")]) == 0
    )
    assert (tmp_path / "day.parquet").read_bytes().startswith(b"PAR1")
    assert (tmp_path / "day.csv").read_text() == served.get(f"/traffic.csv?{day(SECOND)}").text


def test_the_verb_has_the_filters_of_the_page(
    served: Served, warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["report", "--warehouse", str(warehouse), "--period", f"{SECOND}..{SECOND}"]
    assert main([*arguments, "--only", "user_id=ann"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == asked(served, f"{day(SECOND)}&user_id=ann")
    assert answer["figures"]["visitors"]["value"] == 1
    assert main([*arguments, "--only", "user_id=ann", "--page", "/a"]) == 0
    assert json.loads(capsys.readouterr().out) == asked(served, f"{day(SECOND)}&user_id=ann&page_url=/a")
    assert main([*arguments, "--only", "campaign=x"]) == 2
    assert "there is no parameter 'campaign': the parameters are period, compare" in capsys.readouterr().err


def test_the_verb_ends_with_code_4_for_a_period_that_is_not_complete(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    period = ("--warehouse", str(warehouse), "--period", f"{THIRD}..{THIRD}")
    assert main(["report", *period]) == 0
    assert main(["report", *period, "--complete", "--zone", "UTC"]) == 4
    said = capsys.readouterr()
    assert json.loads(said.out.partition("\n}\n")[2])["period"]["zone"] == "UTC"
    assert "tidemark: the period is not complete: its figures cover the time until the watermark only." in said.err


def test_the_verb_ends_with_code_4_for_a_period_of_which_a_part_is_unknown(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    period = ("--warehouse", str(warehouse), "--period", f"{FIRST}..{FIRST}")
    assert main(["report", *period, "--complete", "--wait"]) == 4
    said = capsys.readouterr().err
    assert "tidemark: the period is not complete: only a part of it is known: times before the first event, of" in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--day", "today", "--period", "7d"], "--day and --period are two periods"),
        (["--wait"], "are for figures: add --format json, csv or parquet"),
        (["--period", "7d", "--format", "html"], "are for figures: add --format json, csv or parquet"),
        (["--period", "8d"], "'8d' is no period"),
        (["--period", "7d", "--only", "ann"], "write the name and the value of a filter, such as user_id=ann"),
        (["--period", "7d", "--only", "page_url=/a", "--page", "/b"], "page_url is given twice"),
        (["--only", "user_id=ann"], "are for figures: add --format json, csv or parquet"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    warehouse: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(["report", "--warehouse", str(warehouse), *arguments]) == 2
    assert sentence in capsys.readouterr().err
