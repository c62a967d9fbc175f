"""With a key every table has users by pseudonyms, and no file of the warehouse has one in clear."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.conservation import assert_conserved
from tests.support.every_file import files_with
from tests.support.kafka_cluster import Cluster
from tests.support.services import ANY_TIMESTAMP, Clock, settings_of, take
from tests.support.topic_writer import Raw, event, value_of
from tests.support.warehouse import page_views, rows, user_totals
from tidemark.pipeline.amend.erase.erasure import persons_rows
from tidemark.pipeline.amend.erase.future_events import drop_later
from tidemark.pipeline.amend.erase.person import Person
from tidemark.pipeline.amend.erase.person_tables import PersonalTables
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service
from tidemark.pipeline.cli import main
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.pseudonyms import Pseudonyms
from tidemark.pipeline.settings.model import Settings

pytestmark = pytest.mark.broker

KEY = "the-key-of-this-test-which-nobody-else-has"
ANN, BOB = "ann-of-clear-text", "bob-of-clear-text"
HIDDEN = {user: Pseudonyms(KEY.encode()).of(user) for user in (ANN, BOB)}
TIME = {"bound": "0s", "allowed_lateness": "0s", "idle_timeout": "1h", "max_future_skew": "10s"}
REPORTS: dict[str, dict[str, Any]] = {
    "page_views": {"keys": ["user_id"]},
    "landings": {"keys": ["page_url"], "measures": ["page_views", "unique_users", "sessions_begun"]},
    "clicks": {"keys": [], "where": "event_type = 'click'"},
}


@pytest.fixture(scope="module")
def pseudonymous(broker: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Returns events counted, too late and from the future, and malformed records that contain the user."""
    folder = tmp_path_factory.mktemp("pseudonyms")
    (folder / "key").write_text(f"{KEY}\n")
    topic = f"pseudonyms-{folder.name}"
    broker.create_topic(topic, 1, **ANY_TIMESTAMP)
    settings = settings_of(
        broker,
        topic,
        folder / "warehouse",
        time=TIME,
        window={"size": "10s"},
        reports=REPORTS,
        totals={"gap": "5s", "every": "10s"},
        privacy={"pseudonym_key_file": folder / "key"},
    )
    steps = [
        [
            event(ANN, 12_000, page="/a"),
            event(BOB, 13_000, "click"),
            Raw(f'{{"user": "{ANN}"}}'.encode(), ANN.encode()),
        ],
        [event(BOB, 50_000), event(ANN, 90_000, timestamp_ms=50_000)],
        [event(ANN, 15_000, "click"), Raw(b"\0\0\0\0\x07" + ANN.encode(), ANN.encode()), Raw(None, ANN.encode())],
        [Raw(value_of(ANN, 51_000)[:-4], ANN.encode())],
    ]
    with open_service(settings, now=Clock()) as service:
        take(service, broker, topic, steps)
    return settings


def test_tables_have_pseudonyms_and_no_file_has_a_user_or_the_key(pseudonymous: Settings) -> None:
    assert set(page_views(pseudonymous.warehouse)) == {(HIDDEN[ANN], 10_000, 20_000), (HIDDEN[BOB], 10_000, 20_000)}
    assert set(user_totals(Path(pseudonymous.warehouse))) == set(HIDDEN.values())
    letters = {(row["reason"], row["user_id"]): row for row in rows(pseudonymous.warehouse, "dead_letters")}
    assert set(letters) == {("malformed", None), ("future", HIDDEN[ANN]), ("too_late", HIDDEN[ANN])}
    assert {row["key"] for row in letters.values()} == {None}
    assert HIDDEN[ANN].encode() in letters["too_late", HIDDEN[ANN]]["value"]
    assert files_with(pseudonymous.warehouse, HIDDEN[ANN]), "the files are looked into"
    assert files_with(pseudonymous.warehouse, ANN, BOB, KEY) == set()
    assert_conserved(pseudonymous.warehouse)


@pytest.mark.usefixtures("pseudonymous")
def test_what_spark_shows_has_no_key() -> None:
    spark = SparkSession.getActiveSession()
    assert spark is not None
    assert spark._jvm is not None
    told = "".join(
        one.physicalPlanDescription()
        for one in spark._jvm.scala.jdk.javaapi.CollectionConverters.asJava(
            spark._jsparkSession.sharedState().statusStore().executionsList()
        )
    )
    assert "user_id" in told, "the plans of batches are listed"
    for secret in (KEY.encode(), *Pseudonyms(KEY.encode()).pads):
        for text in (secret.hex(), str(secret)[2:-1]):
            assert text.lower() not in told.lower()


def test_late_events_are_corrected_by_their_pseudonyms(pseudonymous: Settings) -> None:
    assert apply_corrections(pseudonymous, LetterSelection(users=(BOB,))).rows == []
    apply_corrections(pseudonymous, LetterSelection(users=(ANN,)))
    assert page_views(pseudonymous.warehouse)[HIDDEN[ANN], 10_000, 20_000] == (1, 1, 1)
    assert apply_corrections(pseudonymous, LetterSelection()).rows == []
    assert files_with(pseudonymous.warehouse, ANN, BOB, KEY) == set()
    assert_conserved(pseudonymous.warehouse)


def test_another_key_or_no_key_is_refused(
    pseudonymous: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").write_text("another-key-which-is-as-long-as-it-must-be")
    other = pseudonymous.model_copy(
        update={"privacy": pseudonymous.privacy.model_copy(update={"pseudonym_key_file": tmp_path / "other"})}
    )
    none = pseudonymous.model_copy(
        update={"privacy": pseudonymous.privacy.model_copy(update={"pseudonym_key_file": None})}
    )
    for settings, sentence in ((other, "of another key"), (none, "pseudonym_key_file is not set")):
        with pytest.raises(SetUpError, match=sentence), open_service(settings, now=Clock()):
            pass
        with pytest.raises(SetUpError, match=sentence):
            apply_corrections(settings, LetterSelection(users=(ANN,)))
    for verb in ("correct", "erase"):
        assert main([verb, *_flags(other), "--user", ANN]) == 2
    assert "of another key" in capsys.readouterr().err


def test_a_person_is_named_in_clear_and_erased_by_the_pseudonym(pseudonymous: Settings) -> None:
    assert persons_rows(pseudonymous, ANN)
    assert main(["erase", *_flags(pseudonymous), "--user", ANN, "--yes"]) == 0
    assert files_with(pseudonymous.warehouse, HIDDEN[ANN]) == set()
    assert files_with(pseudonymous.warehouse, HIDDEN[BOB])
    assert_conserved(pseudonymous.warehouse)


def test_later_events_are_dropped_by_a_pseudonym_that_is_stored_nowhere(
    pseudonymous: Settings, broker: Cluster
) -> None:
    name, warehouse = pseudonymous.kafka.topic, pseudonymous.warehouse
    drop_later(PersonalTables.of(warehouse), Person(HIDDEN[BOB]), patience_s=0)
    assert main(["erase", *_flags(pseudonymous), "--user", BOB, "--yes"]) == 0
    later = [event(BOB, 52_000), event(BOB, 15_000), Raw(b"{}", BOB.encode())]
    with open_service(pseudonymous, now=Clock()) as service:
        take(service, broker, name, [[*later, event(ANN, 53_000)]])
    assert [row["reason"] for row in rows(warehouse, "dead_letters")].count("erased") == len(later)
    assert files_with(warehouse, ANN, BOB, HIDDEN[BOB], KEY) == set()
    assert_conserved(warehouse)


def _flags(settings: Settings) -> list[str]:
    return ["--warehouse", settings.warehouse, "--privacy.pseudonym-key-file", str(settings.privacy.pseudonym_key_file)]
