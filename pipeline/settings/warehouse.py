"""The address of a warehouse."""

import re
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator

from tidemark.command_line.printable import quoted
from tidemark.kafka_access.addresses import address

_UNUSABLE: Final = re.compile(r"[%*?\[\]{}\\]")
"""Characters that delta-rs, DuckDB or Spark's executors misread in a path: escapes and patterns."""


def is_uri(warehouse: str) -> bool:
    """Tests whether a warehouse is a URI, and not a folder.

    >>> is_uri("s3://bucket/clicks"), is_uri("clicks")
    (True, False)
    """
    return bool(re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", warehouse))


def absolute(warehouse: str) -> str:
    """Returns a folder as an absolute path, because engines and views may have another directory; a URI unchanged."""
    return warehouse if not warehouse or is_uri(warehouse) else str(Path(warehouse).absolute())


def _usable(warehouse: str) -> str:
    """Returns the warehouse. Raises ValueError if an engine that reads or writes it could not open it."""
    path = absolute(warehouse)
    if _UNUSABLE.search(path) or not path.isprintable():
        raise ValueError(
            f"the path {quoted(path)} has one of the characters % * ? [ ] {{ }} \\ or one that cannot be printed, "
            "which engines of Delta tables misread: choose another path, or rename the folder"
        )
    return warehouse


Warehouse = Annotated[
    str,
    address("set the variables of the store, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
    AfterValidator(_usable),
    "FOLDER",
]
