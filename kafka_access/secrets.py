"""Secrets and other files, read when they are needed and never stored."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, SecretStr

from tidemark.kafka_access.errors import AccessError


def secret_names(model: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    """Yields the path of each secret in a tree of settings, as names from the root."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from ((name, *below) for below in secret_names(field.annotation))
        elif SecretStr in _types_in(field.annotation):
            yield (name,)


def _types_in(annotation: Any) -> set[Any]:
    return {annotation}.union(*map(_types_in, get_args(annotation)))


def clear_text(secret: SecretStr | None, file: Path | None, name: str) -> str | None:
    """Returns a secret in clear, from `secret` or from `file` without the line end; None if both are None.

    `name` is the name of the setting, without `_file`. Raises AccessError if the file cannot be read or is empty.
    """
    if file is None:
        return secret.get_secret_value() if secret else None
    text = file_text(file, f"{name}_file").rstrip("\r\n")
    if not text:
        raise AccessError(f"{name}_file {file} is empty: write the secret into it")
    return text


def file_text(file: Path, name: str) -> str:
    """Returns the text of `file`; `name` is the name of its setting. Raises AccessError if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise AccessError(f"{name} {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise AccessError(f"{name} {file} is not a text file") from error
