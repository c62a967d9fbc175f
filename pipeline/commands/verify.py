"""The verb `verify`."""

import click

from tidemark.command_line.verbs import Verb
from tidemark.pipeline.commands.options import settings_in_file, warehouse_option


@click.command(cls=Verb, examples=["tidemark verify --warehouse /data/tidemark"])
@warehouse_option
@click.option("--on-spark", is_flag=True, help="Compute in Spark: for tables that are too large for this machine.")
def verify(warehouse: str, *, on_spark: bool) -> int:
    """Verifies the tables against their invariants, while a service runs or without one; needs no Spark.

    With --on-spark this machine gets answers and violations only. Spark is that of spark-submit, or starts by the
    settings `spark.master` and `spark.conf`; executors need Python with Tidemark.

    Exit code 0: all hold. 1: a line `VIOLATION: ...` for the first few of each invariant.
    """
    from tidemark.pipeline.verifier import invariants
    from tidemark.pipeline.verifier.query_engines import DataFusion
    from tidemark.pipeline.verifier.verification_report import show

    if on_spark:
        from tidemark.pipeline.commands import spark_engine

        connect = spark_engine.on_spark(settings_in_file().spark, warehouse)
    else:
        connect = DataFusion
    verification = invariants.verify(warehouse, connect=connect)
    show(verification)
    return 0 if verification.is_sound else 1
