"""The panels of the first page in the order of the settings; lists that follow one another are side by side. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from tidemark.pipeline.settings.dashboard_settings import Panel
from tidemark.pipeline.web.dashboard.visitor_lists import VisitorList

_WIDE: Final = ("figures", "chart")
_NOW: Final = "now"
_SINGLE: Final = ("pages", "entries", "exits", "users")
"""Panels that are one list of their name."""


@dataclass(frozen=True, slots=True)
class PanelRow:
    """A panel of the whole width, or lists."""

    name: str
    """`figures`, `chart` or `lists`."""
    lists: list[VisitorList | None] = field(default_factory=list)
    """None stands for the visitors now."""


def panel_rows(panels: Sequence[Panel], lists: Sequence[VisitorList]) -> list[PanelRow]:
    """Returns the rows of panels; lists that are unknown are left out."""
    rows = list[PanelRow]()
    for is_wide, group in groupby(panels, key=lambda panel: panel in _WIDE):
        if is_wide:
            rows += [PanelRow(panel) for panel in group]
        else:
            rows.append(PanelRow("lists", [*_lists(group, lists)]))
    return rows


def unknown_lists(panels: Sequence[Panel], lists: Sequence[VisitorList]) -> list[VisitorList]:
    """Returns the lists of panels that are unknown."""
    return [each for panel in panels for each in _of(panel, lists) if each.is_unknown]


def _lists(panels: Iterable[Panel], lists: Sequence[VisitorList]) -> Iterator[VisitorList | None]:
    for panel in panels:
        if panel == _NOW:
            yield None
        yield from (each for each in _of(panel, lists) if not each.is_unknown)


def _of(panel: Panel, lists: Sequence[VisitorList]) -> list[VisitorList]:
    if panel == "further":
        return [each for each in lists if each.name not in _SINGLE]
    return [each for each in lists if each.name == panel]
