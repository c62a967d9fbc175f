"""Settings from where a person puts them: flag > environment > file > default."""

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from pydantic_settings import BaseSettings, CliSettingsSource, PydanticBaseSettingsSource, SettingsError

from pipeline.errors import SetUpError
from pipeline.settings.model import Settings

_PREFIX: Final = "TIDEMARK_"
_OTHER_VARIABLES: Final = {"TIDEMARK_CONFIG", "TIDEMARK_MAVEN_MIRROR", "TIDEMARK_JARS_CACHE"}
_SHORT_FLAGS: Final = {
    "kafka.bootstrap-servers": "bootstrap-servers",
    "kafka.topic": "topic",
    "kafka.start": "start",
}


def load_settings(argv: Sequence[str], config: Path | None = None) -> Settings:
    """The settings tree from flags, environment and a TOML file (`config`, else TIDEMARK_CONFIG).

    Raises SetUpError for anything misspelt or invalid in any of them.
    """
    _check_names(os.environ)
    named = os.environ.get("TIDEMARK_CONFIG")
    file = config or (Path(named) if named else None)
    values = _read(file) if file else {}
    try:
        return _from_sources(argv)(**values)
    except (ValidationError, SettingsError) as error:
        raise SetUpError(_one_sentence(error)) from error


def _from_sources(argv: Sequence[str]) -> type[Settings]:
    """Settings whose arguments are the file's values, the weakest source."""

    class Loaded(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature is pydantic's
            file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature is pydantic's
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return _flags(settings_cls, argv), env_settings, init_settings

    return Loaded


def _flags(settings_cls: type[BaseSettings], argv: Sequence[str]) -> CliSettingsSource[Any]:
    return CliSettingsSource(
        settings_cls,
        cli_prog_name="tidemark run",
        cli_parse_args=list(argv),
        cli_shortcuts=_SHORT_FLAGS,
        cli_kebab_case=True,
        cli_exit_on_error=False,
        cli_hide_none_type=True,
    )


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text())
    except OSError as error:
        raise SetUpError(f"the settings file {file} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SetUpError(f"the settings file {file} is not TOML: {error}") from error


def _check_names(environment: Mapping[str, str]) -> None:
    """A variable that names no section or setting at the top of the tree would be passed over in silence."""
    sections = {name.upper() for name in Settings.model_fields}
    for variable in environment:
        name = variable.upper()  # pydantic does not tell upper from lower case either
        top = name.removeprefix(_PREFIX).split("__")[0]
        if name.startswith(_PREFIX) and name not in _OTHER_VARIABLES and top not in sections:
            raise SetUpError(f"{variable} names no setting: after {_PREFIX} comes one of {', '.join(sorted(sections))}")


def _one_sentence(error: ValidationError | SettingsError) -> str:
    if isinstance(error, SettingsError):
        said = str(error).removeprefix("error parsing CLI: ")
        return f"the settings are not right: {said}. `tidemark run --help` lists them all"
    found = [f"{'.'.join(map(str, problem['loc']))}: {_reason(problem)}" for problem in error.errors()]
    return f"the settings are not right: {'; '.join(found)}"


def _reason(problem: Mapping[str, Any]) -> str:
    if problem["type"] == "extra_forbidden":
        return "there is no such setting"
    return f"{problem['msg'].removeprefix('Value error, ')} (found {problem['input']!r})"
