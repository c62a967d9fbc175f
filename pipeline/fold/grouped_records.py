"""The second half of a fold: groups judged records by several sets of keys at once, in Java and without a shuffle.

`connector/tidemark/FoldRecords.java` groups by numbers that stand for texts, so a further set of keys costs little.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import DataFrame

from tidemark.pipeline.runtime.pyspark_internals import applied, java_packages

STATISTICS: Final = -1
"""The grouping of rows that count all records, by packed number and age."""
REJECTED_RECORD: Final = -2
"""The grouping of rows with the fields of a rejected record."""


def fold_records(judged: DataFrame, spec: Mapping[str, Any]) -> DataFrame:
    """Returns the folded rows of judged records: `spec` has the fields of `FoldSpec.java`, which names the columns."""
    java: Any = java_packages(judged.sparkSession).tidemark
    return applied(java.FoldRecords.apply, judged, json.dumps(spec))
