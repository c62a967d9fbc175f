"""Recognises failures of Spark that another attempt may avoid."""

import re
from typing import Final

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException, ParseException, PySparkException, StreamingQueryException

_OUTSIDE: Final = re.compile(
    r"\bjava\.(io|net|nio)\.[\w.]*(Exception|Error)\b|java\.util\.concurrent\.TimeoutException|OutOfMemoryError"
    r"|org\.apache\.kafka\.|org\.apache\.hadoop\.[\w.]*Exception|ExecutorLost|FetchFailed|No space left on device"
    r"|SparkContext (was|has been) (shut ?down|stopped)|\bcancell?ed\b"
)


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
