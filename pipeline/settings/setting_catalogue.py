"""Every setting as users see it: flag, variable, form, default. All of it is derived from the tree of `model.py`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from tidemark.pipeline.settings.model import PREFIX, Settings

_FORMS: Final[Mapping[Any, str]] = {bool: "true|false", int: "INTEGER", float: "NUMBER", Path: "FILE"}


@dataclass(frozen=True, slots=True)
class Setting:
    """A leaf of the tree. `default` is as written in a settings file; None without a default."""

    path: tuple[str, ...]
    section: str
    meaning: str
    form: str
    choices: tuple[str, ...]
    default: Any
    is_map: bool
    is_secret: bool

    @property
    def name(self) -> str:
        """Name in documentation: `time.allowed_lateness`."""
        return ".".join(self.path)

    @property
    def flag(self) -> str:
        """Flag on the command line: `--time.allowed-lateness`."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def variable(self) -> str:
        """Variable in the environment: `TIDEMARK_TIME__ALLOWED_LATENESS`."""
        return PREFIX + "__".join(self.path).upper()


@cache
def catalogue() -> tuple[Setting, ...]:
    """Returns all settings in the order of the tree; settings of a section precede its subsections."""
    # Not `Settings()`, which would read the environment.
    return tuple(_leaves(Settings, (), Settings.model_construct().model_dump(mode="json")))


def names_at(path: Sequence[str]) -> list[str]:
    """Returns the allowed names at `path`; empty if any name is allowed, or the path does not exist."""
    kind: Any = Settings
    for name in path:
        if get_origin(kind) is dict:
            kind = _shape(get_args(kind)[1])[0]
        elif _is_section(kind) and name in kind.model_fields:
            kind = _shape(kind.model_fields[name].annotation)[0]
        else:
            return []
    return list(kind.model_fields) if _is_section(kind) else []


def _leaves(section: type[BaseModel], path: tuple[str, ...], defaults: Any) -> Iterator[Setting]:
    first_line = (section.__doc__ or "").splitlines()[0].removesuffix(".")
    heading = f"{'.'.join(path)}: {first_line}" if path else "Settings"
    kinds = {name: _shape(field.annotation)[0] for name, field in section.model_fields.items()}
    for name in sorted(kinds, key=lambda name: _is_section(kinds[name])):
        default = defaults.get(name) if isinstance(defaults, Mapping) else None
        if _is_section(kinds[name]):
            yield from _leaves(kinds[name], (*path, name), default)
        else:
            yield _setting((*path, name), heading, section.model_fields[name], default)


def _setting(path: tuple[str, ...], section: str, field: FieldInfo, default: Any) -> Setting:
    kind, form = _shape(field.annotation, field.metadata)
    choices, is_map = _choices(kind), get_origin(kind) is dict
    default_form = "|".join(choices) or ("NAME=VALUE" if is_map else _FORMS.get(kind, "TEXT"))
    if isinstance(default, list):
        default = ", ".join(map(str, default))
    # An empty default means that the setting is unset, or what its meaning says.
    meaning, shown_default = " ".join((field.description or "").split()), default if default not in ("", {}) else None
    return Setting(path, section, meaning, form or default_form, choices, shown_default, is_map, _has_secret(kind))


def _shape(annotation: Any, metadata: Sequence[Any] = ()) -> tuple[Any, str | None]:
    """Returns the type within Annotated and Optional, and the text that is annotated as its form in help."""
    form = next((text for text in metadata if isinstance(text, str)), None)
    kind, arguments = annotation, get_args(annotation)
    inner = None
    if get_origin(annotation) is Annotated:
        kind, inner = _shape(arguments[0], arguments[1:])
    elif get_origin(annotation) in (Union, UnionType):
        kind, inner = _shape(next(argument for argument in arguments if argument is not type(None)))
    return kind, form or inner


def _choices(kind: Any) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        return tuple(map(str, get_args(kind)))
    return tuple(map(str, kind)) if isinstance(kind, type) and issubclass(kind, StrEnum) else ()


def _has_secret(kind: Any) -> bool:
    return kind is SecretStr or any(map(_has_secret, get_args(kind)))


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
