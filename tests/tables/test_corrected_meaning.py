"""`correct` and `replay` take events by the meaning that the warehouse records, as a start does."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.verify.site import PAGE_VIEWS_ALONE, Event, Site
from tidemark.pipeline.amend import late_corrections
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.tables.changed_meaning import Meaning

CORRECT, REPLAY = LetterSelection(), LetterSelection(reasons=("malformed", "future"), is_judged_again=True)


class SparkIsAsked(Exception):
    """The verb begins to read dead letters."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with an event, by the meaning of the settings' defaults."""
    folder = tmp_path_factory.mktemp("template") / "warehouse"
    Site(folder, PAGE_VIEWS_ALONE, meaning=Meaning.of(Settings()).values).open().batch(Event(1))
    return folder


@pytest.fixture
def warehouse(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A copy of the template, in which no verb asks Spark."""

    def asked(_: object) -> None:
        raise SparkIsAsked

    monkeypatch.setattr(late_corrections, "spark_session", asked)
    monkeypatch.setattr(late_corrections, "check_results", lambda *_, **__: None)
    return str(shutil.copytree(template, tmp_path / "warehouse"))


def settings_with(warehouse: str, **schemas: Any) -> Settings:
    return Settings.model_validate({"warehouse": warehouse, "schemas": schemas})


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"mapping": {"user": "page_url"}}, "schemas.mapping.user was user_id and is now page_url"),
    ({"mapping": {"kinds": {"visit": "click", "click": "visit"}}}, "schemas.mapping.kinds was"),
    ({"mapping": {"kinds": {"visit": "visit"}}}, "kinds was click=click visit=visit and is now visit=visit"),
    ({"format": "json"}, "schemas.format was avro and is now json"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "schemas", "sentence"),
    [
        # Each change is fast with one of the verbs, in turn.
        pytest.param(verb, *change, id=f"{name}-{number}", marks=pytest.mark.slow if (number + at) % 2 else ())
        for at, (name, verb) in enumerate({"correct": CORRECT, "replay": REPLAY}.items())
        for number, change in enumerate(CHANGES)
    ],
)
def test_another_meaning_is_refused_unless_the_settings_allow_it(
    warehouse: str, verb: LetterSelection, schemas: dict[str, Any], sentence: str
) -> None:
    for dry_run in (True, False):
        with pytest.raises(SetUpError, match=sentence):
            apply_corrections(settings_with(warehouse, **schemas), verb, dry_run=dry_run)
    assert not Path(warehouse, "corrections").exists()
    with pytest.raises(SparkIsAsked):
        apply_corrections(settings_with(warehouse, **schemas, on_change="record"), verb)


@pytest.mark.parametrize("schemas", [{}, {"mapping": {"kinds": {"visit": "visit", "click": "click", "tap": "click"}}}])
def test_the_same_meaning_and_a_further_kind_are_taken(warehouse: str, schemas: dict[str, Any]) -> None:
    with pytest.raises(SparkIsAsked):
        apply_corrections(settings_with(warehouse, **schemas), REPLAY)
