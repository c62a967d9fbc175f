"""How a run gets in to Kafka: the vocabulary of `kafka_access` as options and variables."""

import argparse
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from kafka_access.secrets import secret_names
from kafka_access.settings import Access
from producers.errors import SetupError


class _Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="PRODUCERS_", env_nested_delimiter="__", hide_input_in_errors=True)

    kafka: Access = Access()


def add_options(parser: argparse.ArgumentParser) -> None:
    """An option for each setting but secrets, which every user of the machine could read in a process's arguments."""
    group = parser.add_argument_group(
        "how to get in",
        "Secrets come from files, or as PRODUCERS_KAFKA__SASL__PASSWORD and the like, which any of these may be.",
    )
    for name, meaning in _options(Access, ("kafka",)):
        group.add_argument(f"--{name.replace('_', '-')}", dest=name, metavar="VALUE", help=meaning)


def access_of(options: argparse.Namespace) -> Access:
    """What options and environment ask for, options first. Raises SetupError where they do not go together."""
    given: dict[str, Any] = {}
    for name, value in vars(options).items():
        if value is not None and name.startswith("kafka."):
            _, section, setting = name.split(".")
            given.setdefault(section, {})[setting] = value
    try:
        return _Settings(kafka=given).kafka  # type: ignore[arg-type] # as pydantic takes it, merged with the environment
    except ValidationError as error:
        problems = ((".".join(map(str, problem["loc"])), problem["msg"]) for problem in error.errors())
        raise SetupError(
            "; ".join(f"{name}: {said.removeprefix('Value error, ')}" for name, said in problems)
        ) from error
    except SettingsError as error:
        raise SetupError(str(error)) from error


def _options(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Name and meaning of what may be given as an option."""
    secret = {names for names in secret_names(model) if len(names) == 1}
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _options(field.annotation, (*path, name))
        elif (name,) not in secret:
            yield ".".join((*path, name)), field.description or ""
