"""What is wrong with the settings, in one sentence, with the name that was probably meant."""

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

    It would be passed over in silence; the names below are looked at with the values.
    """
    for variable in environment:
        name = variable.upper()  # pydantic does not tell upper from lower case either
        if not name.startswith(PREFIX) or name in _OTHER_VARIABLES:
            continue
        path = name.removeprefix(PREFIX).lower().split("__")
        if path[0] not in Settings.model_fields:
            meant = _meant(path, in_environment=True)
            others = f": after {PREFIX} comes one of {', '.join(sorted(map(str.upper, Settings.model_fields)))}"
            raise SetUpError(f"{variable} names no setting{meant or others}")


def sentence(error: ValidationError, sources: Sequence[Source]) -> str:
    """All that is wrong."""
    return f"the settings are not right: {'; '.join(_told(problem, sources) for problem in error.errors())}"


def _told(problem: Mapping[str, Any], sources: Sequence[Source]) -> str:
    path = [str(part) for part in problem["loc"]]
    source = source_of(path, sources)
    place = source.location(path) if source else ""
    name = ".".join(path)
    if problem["type"] == "extra_forbidden":
        meant = _meant(path, in_environment=source is not None and source.kind == "environment")
        return f"{name}: there is no such setting{f' (in {place})' if place else ''}{meant}"
    said, found = problem["msg"].removeprefix("Value error, "), problem["input"]
    # Of a whole section, and of a secret, nothing is shown.
    shown = f"found {found!r}" if isinstance(found, str | int | float) and not _is_secret(path) else ""
    words = " ".join(filter(None, [shown, f"in {place}" if place else ""]))
    return f"{name}: {said}{f' ({words})' if words else ''}".removeprefix(": ")


def _meant(path: Sequence[str], *, in_environment: bool) -> str:
    """Asks for names that may have been meant: one like it in its section, or the same in another."""
    *section, last = path
    everywhere = [setting.name for setting in catalogue()]
    near = [".".join([*section, name]) for name in get_close_matches(last, names_at(section), 1)]
    elsewhere = [name for name in everywhere if name.split(".")[-1] == last]
    found = (near or elsewhere or get_close_matches(".".join(path), everywhere, 1))[:2]
    names = [PREFIX + name.replace(".", "__").upper() if in_environment else name for name in found]
    return f"; did you mean {' or '.join(names)}?" if names else ""


def _is_secret(path: Sequence[str]) -> bool:
    """Whether what stands there is a secret, or has one in it."""
    secrets = (setting.path for setting in catalogue() if setting.is_secret)
    return any(secret[: len(path)] == tuple(path)[: len(secret)] for secret in secrets)
