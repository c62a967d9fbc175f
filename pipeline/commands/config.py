"""`tidemark config show`: the settings as a file would have them, each with where it comes from."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import click

from command_line.verbs import Verb
from pipeline.commands.options import sources_options
from pipeline.settings.load import settings_of
from pipeline.settings.model import Settings
from pipeline.settings.setting_catalogue import Setting, catalogue
from pipeline.settings.sources import Source, merged, source_of

_SECRET: Final = re.compile(r"(?i)secret|password|passwd|token|credential|access.?key|jaas|(^|\.)key(\.pem)?$")
"""Names of further properties, as of Kafka's clients and Spark, whose values nobody shall see."""
_HIDDEN: Final = "is set, and hidden"


@click.group()
def config() -> None:
    """Shows the settings and where each comes from."""


@config.command(
    cls=Verb,
    examples=[
        "tidemark config show --config tidemark.toml",
        "TIDEMARK_TIME__BOUND=30s tidemark config show --topic events > tidemark.toml",
    ],
)
@sources_options
def show(sources: Sequence[Source]) -> None:
    """Prints the settings that a start would go by, in TOML, each with where it comes from.

    What is a default stands in a comment, and so does a secret, without its value: what is printed may be a settings
    file.
    """
    for line in shown(settings_of(sources), sources):
        click.echo(line)


def shown(settings: Settings, sources: Sequence[Source]) -> Iterator[str]:
    """The lines: in each section what was set, and in comments what was not."""
    values, told = settings.model_dump(mode="json"), merged(sources)
    for section, leaves in groupby(catalogue(), lambda setting: setting.path[:-1]):
        if section:
            yield f"\n[{'.'.join(section)}]" if _at(told, section) else f"\n# [{'.'.join(section)}]"
        for setting in leaves:
            yield from _lines(setting, _at(values, setting.path), _at(told, setting.path), sources)


def _lines(setting: Setting, value: Any, told: Any, sources: Sequence[Source]) -> Iterator[str]:
    name, source = setting.path[-1], source_of(setting.path, sources)
    if value in (None, "", {}):
        yield f"# {name} is not set"
    elif source is None:
        entries = value.items() if setting.is_map else [("", value)]
        yield from (f"# {name}{key and '.' + _key(key)} = {_toml(entry)}  # default" for key, entry in entries)
    elif setting.is_map:
        for key, entry in told.items():
            place = _place((*setting.path, key), sources)
            line = f"{name}.{_key(key)}"
            is_hidden = setting.is_secret or _SECRET.search(key)
            yield f"# {line} {_HIDDEN}  # {place}" if is_hidden else f"{line} = {_toml(entry)}  # {place}"
    else:
        place = _place(setting.path, sources)
        yield f"# {name} {_HIDDEN}  # {place}" if setting.is_secret else f"{name} = {_toml(value)}  # {place}"


def _place(path: Sequence[str], sources: Sequence[Source]) -> str:
    source = source_of(path, sources)
    assert source is not None  # noqa: S101 - it was told
    return f"{source.kind} {source.location(path)}"


def _at(tree: Any, path: Sequence[str]) -> Any:
    for name in path:
        tree = tree.get(name) if isinstance(tree, Mapping) else None
    return tree


def _toml(value: Any) -> str:
    """A value as TOML has it; its strings are those of JSON."""
    match value:
        case Mapping():
            entries = (f"{_key(name)} = {_toml(entry)}" for name, entry in value.items() if entry is not None)
            return f"{{ {', '.join(entries)} }}" if value else "{}"
        case list() | tuple():
            return f"[{', '.join(map(_toml, value))}]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
