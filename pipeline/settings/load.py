"""Reads settings from their sources: flag > environment > file > default."""

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import attrgetter
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsError

from pipeline.errors import SetUpError
from pipeline.settings.misspelt import check_variables, sentence
from pipeline.settings.model import Settings
from pipeline.settings.setting_catalogue import PREFIX, Setting, catalogue
from pipeline.settings.sources import Source, merged

Flags = Mapping[str, str | Sequence[str]]
"""Values on the command line by the names of settings; a list for a setting with many entries."""
CONFIG = "TIDEMARK_CONFIG"
"""The variable with the path of the settings file."""


def read_sources(flags: Flags, config: Path | None) -> list[Source]:
    """Returns flags, environment and the TOML file `config`, strongest first. May raise SetUpError."""
    check_variables(os.environ)
    return [_from_flags(flags), _from_environment(), Source("file", read_file(config), {(): str(config or "")})]


def settings_of(sources: Sequence[Source]) -> Settings:
    """Merges and validates the sources. Raises SetUpError for an unknown name or an invalid value."""
    try:
        return _MergedSettings(**merged(sources))
    except ValidationError as error:
        raise SetUpError(sentence(error, sources)) from error


def require(settings: Settings, *names: str) -> None:
    """Raises SetUpError if one of the settings with these names is not set."""
    missing = [name for name in names if not attrgetter(name)(settings)]
    if missing:
        raise SetUpError(f"{', '.join(missing)} must be set: by flag, TIDEMARK_ environment variable or --config file")


def read_file(file: Path | None) -> dict[str, Any]:
    """Returns the content of a settings file; empty without one. Raises SetUpError if it cannot be read."""
    if file is None:
        return {}
    try:
        return tomllib.loads(file.read_text())
    except OSError as error:
        raise SetUpError(f"the settings file {file} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SetUpError(f"the settings file {file} is not TOML: {error}") from error


class _MergedSettings(Settings):
    """Settings from the merged sources only; pydantic reads no environment."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the signature is pydantic's
        init_settings: PydanticBaseSettingsSource,
        *_: Any,
        **__: Any,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def _from_flags(flags: Flags) -> Source:
    given, values = [setting for setting in catalogue() if setting.name in flags], dict[str, Any]()
    for setting in given:
        *sections, name = setting.path
        section_values = reduce(lambda tree, section: tree.setdefault(section, {}), sections, values)
        section_values[name] = _entries(setting, flags[setting.name]) if setting.is_map else flags[setting.name]
    return Source("flag", values, {setting.path: setting.flag for setting in given})


def _entries(setting: Setting, texts: Sequence[str]) -> dict[str, Any]:
    """Returns the entries of a map; each text is `NAME=VALUE` or a JSON object."""
    entries: dict[str, Any] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if text.startswith("{"):
            entries |= _json(setting, text)
        elif separator and name:
            entries[name] = _json(setting, value) if value.startswith("{") else value
        else:
            raise SetUpError(f"{setting.flag}: {text!r} is not {setting.form}, nor an object in JSON")
    return entries


def _json(setting: Setting, text: str) -> dict[str, Any]:
    try:
        entries: dict[str, Any] = json.loads(text)
        return entries
    except ValueError as error:
        raise SetUpError(f"{setting.flag}: {text!r} is not JSON: {error}") from error


def _from_environment() -> Source:
    variables = {
        tuple(name.lower().removeprefix(PREFIX.lower()).split("__")): name
        for name in os.environ
        if name.upper().startswith(PREFIX)
    }
    try:
        return Source("environment", EnvSettingsSource(Settings)(), variables)
    except SettingsError as error:
        raise SetUpError(f"a value in the environment is invalid: {error}: it must be JSON") from error
