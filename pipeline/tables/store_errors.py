"""Whose fault an error is: the store's, which may get well by itself, or ours."""

import re

import pyarrow as pa
from deltalake.exceptions import DeltaError

# A query over a file that cannot be read fails as ArrowInvalid, with the store's words inside.
OF_THE_STORE = (DeltaError, OSError, pa.ArrowInvalid)


def one_line(error: BaseException) -> str:
    """What it says, without its line breaks."""
    return " ".join(plain(error).split())


def plain(error: BaseException) -> str:
    """What it says, without the colours that errors of a store have."""
    return re.sub(r"\x1b\[[0-9;]*m", "", str(error))


def is_of_store(error: BaseException) -> bool:
    """Whether a table or the store below it refused, so that the same may succeed later."""
    return isinstance(error, OF_THE_STORE)
