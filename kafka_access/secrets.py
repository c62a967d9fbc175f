"""Secrets and other files, read where they are needed and kept nowhere."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, SecretStr

from kafka_access.errors import AccessError


def secret_names(model: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    """Where a tree of settings has secrets: the path of each, from the top."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from ((name, *below) for below in secret_names(field.annotation))
        elif SecretStr in _parts(field.annotation):
            yield (name,)


def _parts(annotation: Any) -> set[Any]:
    return {annotation}.union(*(_parts(part) for part in get_args(annotation)))


def clear_text(secret: SecretStr | None, file: Path | None, name: str) -> str | None:
    """A secret as it is, or from its file without the end of the line; None where there is neither.

    Raises AccessError if the file cannot be read or is empty; `name` is the setting's, without `_file`.
    """
    if file is None:
        return secret.get_secret_value() if secret else None
    text = file_text(file, f"{name}_file").rstrip("\r\n")
    if not text:
        raise AccessError(f"{name}_file {file} is empty: write the secret into it")
    return text


def file_text(file: Path, name: str) -> str:
    """What a file has. Raises AccessError if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise AccessError(f"{name} {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise AccessError(f"{name} {file} is no text") from error
