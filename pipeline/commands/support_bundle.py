"""The verb `support-bundle`."""

from collections.abc import Sequence

import click

from tidemark.command_line.verbs import Verb
from tidemark.pipeline.commands.options import sources_options
from tidemark.pipeline.settings.sources import Source


@click.command(
    cls=Verb,
    shows=["Usual settings"],
    examples=[
        "tidemark support-bundle --config tidemark.toml",
        "tidemark support-bundle --warehouse /data/tidemark --no-verify --output -",
    ],
)
@click.option(
    "--output",
    type=click.Path(),
    default="tidemark-support.txt",
    show_default=True,
    metavar="FILE",
    help="File to write, - for standard output.",
)
@click.option("--verify/--no-verify", "verifies", default=True, help="Whether to verify the tables, which reads them.")
@sources_options
def support_bundle(sources: Sequence[Source], output: str, *, verifies: bool) -> None:
    """Writes a text file for a bug report: versions, settings, the last rows of the ledger, the outcome of `verify`.

    It contains no secrets, user ids, values of events, addresses of machines or paths: texts of settings are hidden,
    and values in the sentences of `verify` are replaced by the names of their columns. It needs neither valid values
    of settings nor a readable warehouse: a section that fails has the kind of the error. The command only reads.
    """
    from tidemark.pipeline.commands.support.bundle import bundle_text
    from tidemark.pipeline.web.day_report.report_file import write_page

    write_page(bundle_text(sources, verifies=verifies), output)
