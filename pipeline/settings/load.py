"""Reads settings from their sources: flag > environment > file > default."""

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsError

from tidemark.command_line.printable import quoted, shortened
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.settings.misspelt import check_variables, sentence
from tidemark.pipeline.settings.model import PREFIX, Settings
from tidemark.pipeline.settings.setting_catalogue import Setting, catalogue
from tidemark.pipeline.settings.sources import Source, merged

Flags = Mapping[str, str | Sequence[str]]
"""Values on the command line by the names of settings; a list for a setting with many entries."""
CONFIG = "TIDEMARK_CONFIG"
"""The variable with the path of the settings file."""
_OF_TEXT: Final = (tomllib.TOMLDecodeError, json.JSONDecodeError, UnicodeDecodeError)


def read_sources(flags: Flags, config: Path | None) -> list[Source]:
    """Returns flags, environment and the TOML file `config`, strongest first. May raise SetUpError."""
    check_variables(os.environ)
    sources = [_from_flags(flags), _from_environment()]
    for source in sources:
        _check_text(source)
    return [*sources, Source("file", read_file(config), {(): str(config or "")})]


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
    except (ValueError, RecursionError) as error:
        raise SetUpError(f"the settings file {file} is not TOML: {_reason(error)}") from error


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
            raise SetUpError(f"{setting.flag}: {quoted(text)} is not {setting.form}, nor an object in JSON")
    return entries


def _json(setting: Setting, text: str) -> dict[str, Any]:
    try:
        entries: dict[str, Any] = json.loads(text)
        return entries
    except (ValueError, RecursionError) as error:
        raise SetUpError(f"{setting.flag}: {quoted(text)} is not JSON: {_reason(error)}") from error


def _reason(error: ValueError | RecursionError) -> str:
    """Returns why a text could not be parsed, even if it exceeded a limit of Python."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return shortened(str(error)) if isinstance(error, _OF_TEXT) else "a number has too many digits"


def _check_text(source: Source) -> None:
    """Raises SetUpError for text that cannot be written: bytes that are not UTF-8, or half of an escaped pair."""
    for path, name in source.names.items():
        try:
            json.dumps(source.at(path), ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise SetUpError(f"{shortened(name)} is not text in UTF-8") from error


class _Environment(EnvSettingsSource):
    """The environment, whose errors name the variable; pydantic's name the section."""

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        """Returns the value in JSON. Raises ValueError, which pydantic ignores if text is allowed, too."""
        try:
            return super().decode_complex_value(field_name, field, value)
        except (ValueError, RecursionError) as error:
            variable = next(name.upper() for name, text in self.env_vars.items() if text == value)
            raise ValueError(f"{shortened(variable)} is not JSON: {_reason(error)}") from error


def _from_environment() -> Source:
    variables = {
        tuple(name.lower().removeprefix(PREFIX.lower()).split("__")): name
        for name in os.environ
        if name.upper().startswith(PREFIX)
    }
    if not variables:
        return Source("environment", {}, {})
    try:
        source = Source("environment", _Environment(Settings)(), variables)
    except SettingsError as error:
        raise SetUpError(str(error.__cause__)) from error
    for path, name in variables.items():
        if path[0] in Settings.model_fields and not source.has(path):
            reason = "it is null or another variable sets what contains it"
            raise SetUpError(f"{shortened(name)} sets nothing, because {reason}: unset it")
    return source
