"""Reads the texts of Spark's failures: their cause, and whether another attempt may avoid them."""

import re
from itertools import takewhile
from typing import Final

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException, ParseException, PySparkException, StreamingQueryException

_OUTSIDE: Final = re.compile(
    r"\bjava\.(io|net|nio)\.[\w.]*(Exception|Error)\b|java\.util\.concurrent\.TimeoutException|OutOfMemoryError"
    r"|org\.apache\.kafka\.|org\.apache\.hadoop\.[\w.]*Exception|ExecutorLost|FetchFailed|No space left on device"
    r"|SparkContext (was|has been) (shut ?down|stopped)|\bcancell?ed\b"
)

_CAUSED: Final = re.compile(r"^\s*Caused by: (.+)$", re.MULTILINE)
_OF_TASK: Final = re.compile(r"most recent failure: Lost task .*?\): (.+)")


def cause_in(text: str) -> str:
    """Returns the innermost cause that the text of an error of Java names, else the text before Java's stack trace.

    >>> cause_in("Job aborted, most recent failure: Lost task 0.0 in stage 1.0 (driver): java.io.IOException: no space")
    'java.io.IOException: no space'
    """
    found = _CAUSED.findall(text) or _OF_TASK.findall(text)
    return " ".join(found[-1:] or takewhile(lambda line: not line.startswith("\tat "), text.split("\n"))).strip()


def is_of_spark(error: BaseException) -> bool:
    """Returns whether Spark failed for a reason outside this program: a store, a network, a lost executor, memory.

    A statement that Spark refuses, and any other exception of Java, are defects: a retry does not help. Spark reports
    failures of tasks as text only.
    """
    if isinstance(error, Py4JNetworkError):
        return True
    if isinstance(error, AnalysisException | ParseException):
        return False
    is_raised_in_java = isinstance(error, Py4JError | PySparkException) and not isinstance(
        error, StreamingQueryException
    )
    return is_raised_in_java and bool(_OUTSIDE.search(str(error)))
