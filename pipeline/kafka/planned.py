"""How far a batch reads. Spark writes that to the checkpoint's offset log before the batch runs, and nowhere else.

Neither `observe()` nor the progress report would do: both come after the batch, and count re-executions.
"""

import json
from pathlib import Path


def planned_ends(checkpoint: Path, number: int, topic: str) -> dict[int, int]:
    """The offset (exclusive) up to which each partition is read in the query's batch `number`.

    Source of the format: Spark, `OffsetSeqLog`: a version line, a line of metadata, then a line per source.
    """
    source = (checkpoint / "offsets" / str(number)).read_text().splitlines()[2]
    return {int(partition): offset for partition, offset in json.loads(source)[topic].items()}
