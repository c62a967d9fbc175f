"""Describes errors in settings, and suggests the name that was probably meant."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError

from pipeline.errors import SetUpError
from pipeline.settings.model import Settings
from pipeline.settings.setting_catalogue import PREFIX, catalogue, names_at
from pipeline.settings.sources import Source, source_of

_OTHER_VARIABLES: Final = {
    "TIDEMARK_CONFIG",
    "TIDEMARK_JARS_CACHE",
    "TIDEMARK_MAVEN_MIRROR",
    "TIDEMARK_SQL_PASSWORD",
}


def check_variables(environment: Iterable[str]) -> None:
    """Raises SetUpError for a variable that names no section or setting at the top of the tree.

    pydantic would ignore the variable. It checks the names below together with the values.
    """
    for variable in environment:
        name = variable.upper()  # pydantic ignores case, too
        if not name.startswith(PREFIX) or name in _OTHER_VARIABLES:
            continue
        path = name.removeprefix(PREFIX).lower().split("__")
        if path[0] not in Settings.model_fields:
            suggestion = _suggestion(path, in_environment=True)
            others = f": after {PREFIX} comes one of {', '.join(sorted(map(str.upper, Settings.model_fields)))}"
            raise SetUpError(f"{variable} names no setting{suggestion or others}")


def sentence(error: ValidationError, sources: Sequence[Source]) -> str:
    """Returns a sentence with all errors."""
    return f"the settings are invalid: {'; '.join(_problem_text(problem, sources) for problem in error.errors())}"


def _problem_text(problem: Mapping[str, Any], sources: Sequence[Source]) -> str:
    path = [str(part) for part in problem["loc"]]
    source = source_of(path, sources)
    location = source.location(path) if source else ""
    name = ".".join(path)
    if problem["type"] == "extra_forbidden":
        suggestion = _suggestion(path, in_environment=source is not None and source.kind == "environment")
        return f"{name}: there is no such setting{f' (in {location})' if location else ''}{suggestion}"
    message, value = problem["msg"].removeprefix("Value error, "), problem["input"]
    # A secret must not be shown, and a whole section may contain one.
    found = f"found {value!r}" if isinstance(value, str | int | float) and not _is_secret(path) else ""
    words = " ".join(filter(None, [found, f"in {location}" if location else ""]))
    return f"{name}: {message}{f' ({words})' if words else ''}".removeprefix(": ")


def _suggestion(path: Sequence[str], *, in_environment: bool) -> str:
    """Suggests a similar name in the same section, or the same name in another section."""
    *section, last = path
    everywhere = [setting.name for setting in catalogue()]
    near = [".".join([*section, name]) for name in get_close_matches(last, names_at(section), 1)]
    elsewhere = [name for name in everywhere if name.split(".")[-1] == last]
    candidates = (near or elsewhere or get_close_matches(".".join(path), everywhere, 1))[:2]
    names = [PREFIX + name.replace(".", "__").upper() if in_environment else name for name in candidates]
    return f"; did you mean {' or '.join(names)}?" if names else ""


def _is_secret(path: Sequence[str]) -> bool:
    """Tests whether the value at a path is a secret, or contains one."""
    secrets = (setting.path for setting in catalogue() if setting.is_secret)
    return any(secret[: len(path)] == tuple(path)[: len(secret)] for secret in secrets)
