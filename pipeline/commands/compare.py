"""The verb `compare`."""

import click

from tidemark.command_line.verbs import Verb
from tidemark.pipeline.commands.options import WAREHOUSE
from tidemark.pipeline.errors import NotComplete


@click.command(
    cls=Verb,
    examples=[
        "tidemark compare /data/tidemark /data/replayed",
        "tidemark compare s3://lake/tidemark /data/replayed --format json",
    ],
)
@click.argument("warehouse", type=WAREHOUSE)
@click.argument("other", type=WAREHOUSE)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Output format.",
)
def compare(warehouse: str, other: str, form: str) -> int:
    """Compares the results and dead letters of two warehouses of one topic, row by row. Changes nothing.

    Compared are windows that are final in both, and offsets that both have read; all windows if both have read the same
    offsets. The output names what was compared, what was not, and the columns that were left out.

    Exit code 0: equal. 1: different. 4: no difference, but a table could not be compared.
    """
    from tidemark.pipeline.reading.comparison.comparison_outcome import ComparisonOutcome
    from tidemark.pipeline.reading.comparison.comparison_output import as_json, print_text
    from tidemark.pipeline.reading.comparison.warehouse_comparison import compare as compared

    comparison = compared(warehouse, other)
    if form == "json":
        click.echo(as_json(comparison), nl=False)
    else:
        print_text(comparison)
    if comparison.outcome is ComparisonOutcome.INCOMPLETE:
        lacking = [table.name for table in comparison.tables if not table.is_complete]
        what = ", ".join(lacking) or "no row"
        raise NotComplete(f"not everything could be compared: {what}. The lines 'not compared' say why")
    return 1 if comparison.outcome is ComparisonOutcome.DIFFERENT else 0
