"""The verb `verify`."""

import click

from tidemark.command_line.verbs import Verb
from tidemark.pipeline.commands.options import warehouse_option


@click.command(cls=Verb, examples=["tidemark verify --warehouse /data/tidemark"])
@warehouse_option
def verify(warehouse: str) -> int:
    """Verifies the tables against their invariants, while a service runs or without one; needs no Spark.

    Exit code 0: all hold. 1: a line `VIOLATION: ...` for the first few of each invariant.
    """
    from tidemark.pipeline.verifier import invariants
    from tidemark.pipeline.verifier.verification_report import show

    verification = invariants.verify(warehouse)
    show(verification)
    return 0 if verification.is_sound else 1
