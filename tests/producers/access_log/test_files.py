"""The listing of a log's files while the server rotates them."""

from pathlib import Path

import pytest

from tidemark.producers.access_log import files
from tidemark.producers.access_log.files import FileId, LogFile, files_of

LOG = Path("access.log")
OLD, NEW = LogFile(LOG, FileId(1, 1), 9), LogFile(LOG, FileId(1, 2), 0)
ROTATED = LogFile(Path("access.log.1"), OLD.identity, 9)


def test_the_folder_is_read_until_two_listings_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    # A rotation between two looks at the folder: the second has the new log, but not yet the new name of the old one.
    listings = iter([[OLD], [NEW], [ROTATED, NEW], [ROTATED, NEW], []])
    monkeypatch.setattr(files, "_snapshot", lambda _: next(listings))
    assert files_of(LOG) == [ROTATED, NEW]
