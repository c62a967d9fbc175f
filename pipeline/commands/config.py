"""`tidemark config show`: prints the settings as a settings file, each with its source."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import click

from tidemark.command_line.printable import printable
from tidemark.command_line.verbs import Verb
from tidemark.kafka_access.addresses import has_credentials
from tidemark.pipeline.commands.options import sources_options
from tidemark.pipeline.settings.load import settings_of
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.settings.setting_catalogue import Setting, catalogue
from tidemark.pipeline.settings.sources import Source, merged, source_of

_SECRET: Final = re.compile(r"(?i)secret|password|passwd|token|credential|access.?key|jaas|(^|\.)key(\.pem)?$")
"""Matches names of Spark and Kafka client properties whose values must not be printed."""
_HIDDEN: Final = "is set, and hidden"


@click.group()
def config() -> None:
    """Shows the settings and the source of each."""


@config.command(
    cls=Verb,
    shows=["Usual settings"],
    examples=[
        "tidemark config show --config tidemark.toml",
        "TIDEMARK_TIME__BOUND=30s tidemark config show --topic events > tidemark.toml",
    ],
)
@sources_options
def show(sources: Sequence[Source]) -> None:
    """Prints the settings that `run` would use, in TOML, each with its source.

    Defaults are in comments, and so are secrets, without their values. The output is a valid settings file.
    """
    for line in settings_lines(settings_of(sources), sources):
        click.echo(line)


def settings_lines(settings: Settings, sources: Sequence[Source]) -> Iterator[str]:
    """Yields the lines of a TOML file: in each section what was set, and in comments what was not."""
    values, configured = settings.model_dump(mode="json"), merged(sources)
    for section, leaves in groupby(catalogue(), lambda setting: setting.path[:-1]):
        if section:
            is_configured = _at(configured, section) is not None
            yield f"\n[{'.'.join(section)}]" if is_configured else f"\n# [{'.'.join(section)}]"
        for setting in leaves:
            yield from _lines(setting, _at(values, setting.path), _at(configured, setting.path), sources)


def _lines(setting: Setting, value: Any, configured: Any, sources: Sequence[Source]) -> Iterator[str]:
    name, source = setting.path[-1], source_of(setting.path, sources)
    if value is None or (source is None and value in ("", {})):
        yield f"# {name} is not set"
    elif source is None:
        entries = value.items() if setting.is_map else [("", value)]
        yield from (f"# {name}{key and '.' + _key(key)} = {_toml(entry)}  # default" for key, entry in entries)
    elif setting.is_map and configured:
        for key, entry in configured.items():
            location = _location((*setting.path, key), sources)
            line = f"{name}.{_key(key)}"
            is_hidden = setting.is_secret or _SECRET.search(key) or has_credentials(entry)
            yield f"# {line} {_HIDDEN}  # {location}" if is_hidden else f"{line} = {_toml(entry)}  # {location}"
    else:
        location = _location(setting.path, sources)
        is_hidden = setting.is_secret or has_credentials(value)
        yield f"# {name} {_HIDDEN}  # {location}" if is_hidden else f"{name} = {_toml(value)}  # {location}"


def _location(path: Sequence[str], sources: Sequence[Source]) -> str:
    source = source_of(path, sources)
    assert source is not None  # noqa: S101 - it is configured
    return printable(f"{source.kind} {source.location(path)}")


def _at(tree: Any, path: Sequence[str]) -> Any:
    for name in path:
        tree = tree.get(name) if isinstance(tree, Mapping) else None
    return tree


def _toml(value: Any) -> str:
    """Returns a value in TOML."""
    match value:
        case Mapping():
            entries = (f"{_key(name)} = {_toml(entry)}" for name, entry in value.items() if entry is not None)
            return f"{{ {', '.join(entries)} }}" if value else "{}"
        case list() | tuple():
            return f"[{', '.join(map(_toml, value))}]"
        case str():
            return _text(value)
        case _:
            return json.dumps(value)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    """Returns a text in TOML: as in JSON, but with TOML's escape for each other character that is not printed."""
    return "".join(
        char if char.isprintable() else f"\\U{ord(char):08x}" for char in json.dumps(text, ensure_ascii=False)
    )
