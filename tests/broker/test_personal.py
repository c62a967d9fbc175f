"""Ids of people in a personal dimension are in no file: with pseudonyms ever, and after an erasure."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.conservation import assert_conserved
from tests.support.every_file import files_with
from tests.support.kafka_cluster import Cluster
from tests.support.services import ANY_TIMESTAMP, LATER, Clock, settings_of, take
from tests.support.topic_writer import Raw
from tests.support.warehouse import rows
from tidemark.pipeline.amend.erase.erasure import erase_person, persons_rows
from tidemark.pipeline.amend.late_corrections import LetterSelection, apply_corrections
from tidemark.pipeline.app import open_service

pytestmark = pytest.mark.broker
ANN, CID = "account-of-ann", "account-of-cid"
SECTIONS: Final[dict[str, Any]] = {
    "schemas": {"format": "json"},
    "time": {"bound": "0s", "allowed_lateness": "2s", "idle_timeout": "1h", "max_future_skew": "1h"},
    "window": {"size": "10s"},
    "dimensions": {"account": {"path": "owner.account", "personal": True}},
    "reports": {
        "accounts": {"keys": ["account"]},
        "visits": {"keys": ["account", "user_id"], "window": {"gap": "5s"}},
        "pairs": {"keys": ["account"], "window": {"count": 2}},
        "site": {},
    },
    "totals": {"gap": "5s", "every": "10s"},
}
EVERYWHERE: Final = {"accounts", "corrections", "dead_letters", "pairs", "panes", "visits"}
#  cid acts at 1 s, 3 s and 12 s; at 2 s it is too late, at 99 s it is from the future
STEPS: Final = (
    [("ann", ANN, 1), ("ann", CID, 1), ("bob", CID, 3)],
    [("ann", CID, 12), ("ann", ANN, 13), ("bob", None, 14)],
    [("bob", CID, 2), ("ann", ANN, 40), ("bob", CID, 41)],
)


@pytest.mark.parametrize("hides", [False, True])
def test_no_file_has_the_id_of_an_account_that_is_erased(
    hides: bool, broker: Cluster, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    key, topic, warehouse = tmp_path / "key", make_topic(1, **ANY_TIMESTAMP), tmp_path / "warehouse"
    key.write_text("k" * 64)
    privacy = {"pseudonym_key_file": key} if hides else {}
    settings = settings_of(broker, topic, warehouse, privacy=privacy, **SECTIONS)
    sent = [[record(user, account, second) for user, account, second in step] for step in STEPS]
    sent[0].append(record("ann", CID, 7_200, timestamp_ms=1_000))
    with open_service(settings, now=Clock(LATER)) as service:
        take(service, broker, topic, sent)
    apply_corrections(settings, LetterSelection())
    assert_conserved(settings.warehouse)
    assert persons_rows(settings, CID).keys() == EVERYWHERE
    assert bool(files_with(warehouse, CID)) is not hides
    before = {name: rows(settings.warehouse, name) for name in ("site", "user_totals")}
    erase_person(settings, CID, timedelta(0))
    assert_conserved(settings.warehouse)
    assert persons_rows(settings, CID) == {}
    assert files_with(warehouse, CID) == set()
    assert {name: rows(settings.warehouse, name) for name in before} == before
    assert {row["account"] for row in rows(settings.warehouse, "accounts")} == {None, *(accounts_of(settings, hides))}
    erased = {row["table"]: row["events"] for row in rows(settings.warehouse, "erasures") if row["events"]}
    assert erased == {"accounts": 4, "visits": 4, "pairs": 5}, "no event is too late for windows of counts"


def accounts_of(settings: Any, hides: bool) -> set[str]:
    """Returns the stored id of the account that stays."""
    left = {row["account"] for row in rows(settings.warehouse, "pairs")}
    assert left != {ANN} if hides else left == {ANN}
    return left


def record(user: str, account: str | None, second: int, timestamp_ms: int = 0) -> Raw:
    """Returns a click of a user, in an account."""
    value = {"event_type": "click", "user_id": user, "event_time": second * 1_000, "page_url": "/"}
    value |= {"owner": {"account": account}} if account else {}
    return Raw(json.dumps(value).encode(), timestamp_ms=timestamp_ms or second * 1_000)
