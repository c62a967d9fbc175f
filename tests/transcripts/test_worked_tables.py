"""The worked tables of docs/event-time.md, played on the reference model: what a person reads there is what happens."""

import re
from pathlib import Path

import pytest

from tests.support.yaml_text import parsed
from tests.transcripts.model import Model
from tests.transcripts.transcript import Row, RowKey, Seen, Sent, Step, Transcript

PAGE = Path(__file__).parents[2] / "docs" / "event-time.md"
_EVENT = re.compile(r"(?:(\d+): )?(\w+) (\d+)")
_ROW = re.compile(r"(\w+) \[([\d.]+), ([\d.]+)\) (\d+) (\d+)")
Line = tuple[str, str, str, str]
"""Events, watermark, published, dead letters."""


def tables() -> dict[str, tuple[str, list[Line]]]:
    """By its title: the settings of a table, and its lines."""
    blocks = re.findall(r"\*\*([^*]+)\*\*[^*]*?Played with\s`(.+?)`:\n\n((?:\|.*\n)+)", PAGE.read_text())
    return {title: (settings, [_line(line) for line in lines.splitlines()[2:]]) for title, settings, lines in blocks}


def _line(text: str) -> Line:
    events, watermark, published, dead = (cell.strip() for cell in text.split("|")[1:5])
    return events, watermark, published, dead


def _changed(before: Seen | None, after: Seen) -> set[tuple[str, ...]]:
    """User, window in seconds, the first thing that is counted, and late events of the rows that are new or changed."""
    known = before.tables["page_views"] if before else dict[RowKey, Row]()
    changed = {key: row for key, row in after.tables["page_views"].items() if known.get(key) != row}
    return {
        (str(user), _seconds(start), _seconds(end), str(counted), str(late))
        for (user, start, end), row in changed.items()
        for counted, *_, late in [row.values.values()]
    }


def _seconds(milliseconds: str | int) -> str:
    return f"{int(milliseconds) / 1000:g}"


@pytest.mark.parametrize("title", tables())
def test_what_the_page_shows_is_what_happens(title: str) -> None:
    settings, lines = tables()[title]
    model, before = Model(Transcript(title, parsed(settings), ())), None
    for events, watermark, published, dead in lines:
        sent = [Sent(int(place or 0), user, int(time) * 1000) for place, user, time in _EVENT.findall(events)]
        seen = model.play(Step(tuple(sent), 0, {}))
        assert seen.watermark == (None if watermark == "none" else int(watermark) * 1000), events
        assert _changed(before, seen) == set(_ROW.findall(published)), events
        assert [(user, time // 1000) for user, time, _ in seen.dead] == [
            (user, int(time)) for _, user, time in _EVENT.findall(dead)
        ], events
        before = seen


def test_the_page_has_its_tables() -> None:
    assert len(tables()) == PAGE.read_text().count("Played with") >= 5
