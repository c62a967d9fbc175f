"""What was said on the command line, as a part of the tree of settings."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.errors import SetUpError
from pipeline.settings.catalogue import Setting, catalogue


def values_of_flags(flags: Mapping[str, str | Sequence[str]]) -> dict[str, Any]:
    """The tree of what was said, by the names of settings. Raises SetUpError where that is not how it is written."""
    tree: dict[str, Any] = {}
    for setting in catalogue():
        said = flags.get(setting.name)
        if said is not None:
            below = tree
            for section in setting.path[:-1]:
                below = below.setdefault(section, {})
            below[setting.path[-1]] = _entries(setting, said) if setting.is_map else said
    return tree


def _entries(setting: Setting, said: str | Sequence[str]) -> dict[str, Any]:
    """`NAME=VALUE`, as often as one likes, or all as a JSON object."""
    entries: dict[str, Any] = {}
    for text in [said] if isinstance(said, str) else said:
        name, is_there, value = text.partition("=")
        if text.startswith("{"):
            entries |= _json(setting, text)
        elif is_there and name:
            entries[name] = _json(setting, value) if value.startswith("{") else value
        else:
            raise SetUpError(f"{setting.flag}: {text!r} is not {setting.form}, nor an object in JSON")
    return entries


def _json(setting: Setting, text: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(text)
        return found
    except ValueError as error:
        raise SetUpError(f"{setting.flag}: {text!r} is not JSON: {error}") from error
