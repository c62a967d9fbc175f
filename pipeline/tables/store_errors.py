"""Distinguishes errors of the store, which may recover by itself, from our own."""

import re
from pathlib import Path
from typing import Final

import pyarrow as pa
from deltalake.exceptions import DeltaError, SchemaMismatchError

# A query over a file that cannot be read raises ArrowInvalid with the store's message.
STORE_ERRORS: Final = (DeltaError, OSError, pa.ArrowInvalid)
_STORE_TEXT: Final = re.compile(r"Object Store error|Object at location|Parquet error|Generic (?!DeltaTable)\w+ error")
_DEFECT_TEXT: Final = re.compile(r"\b(Schema|Cast|Arrow|sql parser) error\b|during planning")
_OWN_FILES: Final = Path(__file__).resolve().parents[2]


def one_line(error: BaseException) -> str:
    """Returns the message of an error on one line."""
    return " ".join(without_colours(error).split())


def without_colours(error: BaseException) -> str:
    """Returns the message of an error, without the colours that errors of a store have."""
    return re.sub(r"\x1b\[[0-9;]*m", "", str(error))


def is_of_store(error: BaseException) -> bool:
    """Returns whether a table or its store refused, so that a retry may succeed.

    A statement, cast or schema that is wrong, and a missing file of the program, are defects: a retry does not help.
    delta-rs reports both by the same types, so their text decides, except for the plans of queries (`tables/query.py`).
    Source of the texts: DataFusion and delta-rs.
    """
    match error:
        case SchemaMismatchError():
            return False
        case DeltaError():
            return bool(_STORE_TEXT.search(str(error))) or not _DEFECT_TEXT.search(str(error))
        case pa.ArrowInvalid():
            return bool(_STORE_TEXT.search(str(error)))
        case FileNotFoundError(filename=str(name)):
            return not Path(name).is_relative_to(_OWN_FILES)
        case _:
            return isinstance(error, OSError)
