"""The settings as a bug report may show them: only values whose form cannot hold secrets or personal data."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tidemark.command_line.counts import counted
from tidemark.command_line.times import duration_ms
from tidemark.pipeline.columns import EVENT_TYPE, PAGE_URL, USER_ID
from tidemark.pipeline.measures import MEASURES
from tidemark.pipeline.settings.report_settings import time_zones
from tidemark.pipeline.settings.setting_catalogue import Setting, catalogue
from tidemark.pipeline.settings.sources import Source, merged, source_of

_HIDDEN: Final = "(hidden)"
_MEASURED: Final = frozenset({"INTEGER", "NUMBER", "DURATION", "DURATION|off"})
"""Forms whose valid values are shown; all other texts are hidden."""
_NUMBER: Final = re.compile(r"(?i)true|false|off|\d{1,12}(\.\d{1,12})?[kmgt]?b?")
_FIELD: Final = re.compile(r"@?[A-Za-z_]\w{0,60}(\.([A-Za-z_]\w{0,60}|\d{1,3})){0,9}")
_NAME: Final = re.compile(r"[A-Za-z][\w.-]{0,99}")
_SECRET: Final = re.compile(r"(?i)secret|pass|pwd|pin|token|credential|key|jaas|auth|user|^spark\.hadoop\.")
"""Names of properties of Spark whose values are hidden, even if they are numbers."""
_WORDS: Final = frozenset({USER_ID, PAGE_URL, EVENT_TYPE, *MEASURES})
"""Texts in definitions of reports that are shown."""


def setting_lines(sources: Sequence[Source]) -> Iterator[str]:
    """Yields a line for each setting that `sources` set, with the kind of its source. Values may be invalid."""
    configured = merged(sources)
    for setting in catalogue():
        source = source_of(setting.path, sources)
        if source is not None:
            yield f"{setting.name} = {_value_text(setting, _at(configured, setting.path))}  # {source.kind}"


def _value_text(setting: Setting, value: Any) -> str:
    match setting.name:
        case "spark.conf" if isinstance(value, Mapping):
            return _tree({name: None if _SECRET.search(name) else entry for name, entry in value.items()})
        case "schemas.mapping.kinds" | "schemas.mapping.types" if isinstance(value, Mapping):  # names are foreign
            return counted(len(value), "value")
        case "reports" | "retention" | "window.zone":
            return _tree(value)
        case _:
            return str(value) if _is_valid(setting, str(value)) else _HIDDEN


def _is_valid(setting: Setting, text: str) -> bool:
    """Returns whether a text may be shown, given the form of its setting."""
    if setting.form in ("FIELD", "FIELD,..."):
        return all(map(_FIELD.fullmatch, text.split(",")))
    return text in setting.choices or (setting.form in _MEASURED and _is_harmless(text))


def _tree(value: Any) -> str:
    """Returns a value without texts, except numbers, durations, time zones and words of report definitions."""
    match value:
        case Mapping():
            return f"{{{', '.join(f'{_name(name)}: {_tree(entry)}' for name, entry in value.items())}}}"
        case list() | tuple():
            return f"[{', '.join(map(_tree, value))}]"
        case _:
            return str(value) if _is_harmless(str(value)) else _HIDDEN


def _name(name: str) -> str:
    """Returns the name of an entry, if it can be the name of a report, a table or a property."""
    return name if _NAME.fullmatch(name) else _HIDDEN


def _is_harmless(text: str) -> bool:
    if text in _WORDS or text in time_zones() or _NUMBER.fullmatch(text):
        return True
    try:
        return duration_ms(text) >= 0
    except ValueError:
        return False


def _at(tree: Any, path: Sequence[str]) -> Any:
    for name in path:
        tree = tree.get(name) if isinstance(tree, Mapping) else None
    return tree
