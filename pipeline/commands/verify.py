"""The verb `verify`."""

import click

from command_line.verbs import Verb
from pipeline.commands.options import warehouse_option


@click.command(cls=Verb, examples=["tidemark verify --warehouse /data/tidemark"])
@warehouse_option
def verify(warehouse: str) -> int:
    """Verifies the tables against their invariants, with or without a running service; needs no Spark.

    Exit code 0: all hold. 1: violations; prints the first few of each invariant.
    """
    from pipeline.verifier import invariants
    from pipeline.verifier.verification_report import show

    verification = invariants.verify(warehouse)
    show(verification)
    return 0 if verification.is_sound else 1
