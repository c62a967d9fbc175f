"""The verb `reset-watermark`."""

import click

from tidemark.command_line.verbs import Verb
from tidemark.pipeline.commands.options import TIME, warehouse_option


@click.command(
    cls=Verb,
    examples=[
        'tidemark reset-watermark --warehouse /data/tidemark --reason "clock of host 17"',
        'tidemark reset-watermark --warehouse /data/tidemark --to 2024-05-01T12:00:00Z --reason "host 17" --yes',
    ],
)
@warehouse_option
@click.option("--to", type=TIME, help="New watermark, as 2024-05-01T12:00:00Z; by default the clock minus the bound.")
@click.option("--reason", default="", metavar="TEXT", help="Reason, which is recorded in the ledger.")
@click.option("--yes", is_flag=True, help="Lower the watermark; without it nothing is changed.")
def reset_watermark(warehouse: str, to: int | None, reason: str, *, yes: bool) -> None:
    """Lowers a watermark that a wrong clock moved into the future. Stop the service first."""
    from tidemark.pipeline.amend.watermark_reset import reset

    click.echo(reset(warehouse, to, reason, confirmed=yes))
