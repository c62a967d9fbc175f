"""A sound warehouse passes, at rest and in use, whatever kinds of windows it has."""

from pathlib import Path

from pipeline.verify.laws import verify
from pipeline.verify.render import sentences
from tests.verify.site import Event, busy


def test_a_warehouse_with_every_kind_of_windows_is_sound(tmp_path: Path) -> None:
    busy(tmp_path)
    assert_sound(tmp_path)


def assert_sound(warehouse: Path) -> None:
    verification = verify(str(warehouse))
    assert not verification.breaches
    assert verification.is_sound
    for l in verification.laws:
        print(l.name, "|", l.looked_at)
    print(*sentences(verification), sep="\n")
