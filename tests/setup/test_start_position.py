"""`kafka.start` as a person writes it."""

import pytest

from tests.support.parsed_settings import parsed_settings
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.settings.start_position import (
    AtTime,
    Earliest,
    GroupOffsets,
    Latest,
    Offsets,
    StartPosition,
    parse_start_position,
)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("earliest", Earliest()),
        ("latest", Latest()),
        ("timestamp:1970-01-01T00:00:01.5Z", AtTime(1500)),
        ("timestamp:1970-01-01T02:00+02:00", AtTime(0)),
        ("timestamp:1970-01-02", AtTime(86_400_000)),
        ("group:reports:v2", GroupOffsets("reports:v2")),
        ('offsets:{"0": 3, "12": 0}', Offsets({0: 3, 12: 0})),
    ],
)
def test_it_is_read_as_meant(text: str, meant: StartPosition) -> None:
    assert parse_start_position(text) == meant


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("first", "is not one of earliest, latest, timestamp:<ISO time>"),
        ("latest:1", "is not one of"),
        ("timestamp:", "is not one of"),
        ("timestamp:yesterday", "is not an instant"),
        ("group:", "is not one of"),
        ("offsets:[1, 2]", "is not a map of offsets"),
        ('offsets:{"0": -1}', "is not a map of offsets"),
        ('offsets:{"a": 1}', "is not a map of offsets"),
    ],
)
def test_any_other_position_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(SetUpError, match=f"kafka.start: .*{sentence}"):
        parsed_settings("--kafka.start", text)
