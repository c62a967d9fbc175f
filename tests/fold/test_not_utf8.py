"""Texts that are not UTF-8 are no texts of an event, also when a dead letter is read again."""

import pytest

from tests.support.folded import NOW, record, verdicts, written
from tidemark.pipeline.event_time.checks import Check

pytestmark = pytest.mark.jvm


def test_a_user_that_is_not_utf8_stays_malformed() -> None:
    value = written(7, record(), {"u": "xyz", "t": NOW}).replace(b"xyz", b"x\xffz")
    assert [check for check, _ in verdicts({7: record()}, [value])] == [Check.TEXT]
