"""The Kafka credentials of a run: the settings of `kafka_access` as options and environment variables."""

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from tidemark.command_line.verbs import SectionOption
from tidemark.kafka_access.secrets import secret_names
from tidemark.kafka_access.settings import Access
from tidemark.producers.errors import SetUpError


class _Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="PRODUCERS_", env_nested_delimiter="__", hide_input_in_errors=True)

    kafka: Access = Access()


def access_options() -> list[SectionOption]:
    """Returns an option for each setting that is not a secret: other users can read a process's arguments."""
    heading = (
        "Kafka credentials (also as variables like PRODUCERS_KAFKA__SASL__PASSWORD; secrets only as variables or files)"
    )
    return [
        SectionOption(
            [f"--{name.replace('_', '-')}", name.replace(".", "__")],
            section=heading,
            metavar="VALUE",
            help=meaning,
            show_default=False,
        )
        for name, meaning in _options(Access, ("kafka",))
    ]


def access_of(options: Namespace) -> Access:
    """Returns the credentials of options and environment; options win. Raises SetUpError if they contradict."""
    given: dict[str, Any] = {}
    for name, value in vars(options).items():
        if value is not None and name.startswith("kafka__"):
            _, section, setting = name.split("__")
            given.setdefault(section, {})[setting] = value
    try:
        return _Settings(kafka=given).kafka  # type: ignore[arg-type] # pydantic accepts a dict and merges the environment
    except ValidationError as error:
        problems = ((".".join(map(str, problem["loc"])), problem["msg"]) for problem in error.errors())
        raise SetUpError(
            "; ".join(f"{name}: {message.removeprefix('Value error, ')}" for name, message in problems)
        ) from error
    except SettingsError as error:
        raise SetUpError(str(error)) from error


def _options(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yields name and description of each setting that may be an option."""
    secret = {names for names in secret_names(model) if len(names) == 1}
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _options(field.annotation, (*path, name))
        elif (name,) not in secret:
            yield ".".join((*path, name)), field.description or ""
