"""Distinguishes errors of the store, which may recover by itself, from our own."""

import re

import pyarrow as pa
from deltalake.exceptions import DeltaError

# A query over a file that cannot be read raises ArrowInvalid with the store's message.
STORE_ERRORS = (DeltaError, OSError, pa.ArrowInvalid)


def one_line(error: BaseException) -> str:
    """Returns the message of an error on one line."""
    return " ".join(without_colours(error).split())


def without_colours(error: BaseException) -> str:
    """Returns the message of an error, without the colours that errors of a store have."""
    return re.sub(r"\x1b\[[0-9;]*m", "", str(error))


def is_of_store(error: BaseException) -> bool:
    """Returns whether a table or its store refused, so that a retry may succeed."""
    return isinstance(error, STORE_ERRORS)
