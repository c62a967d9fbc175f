"""The verb `setup`."""

import click

from tidemark.command_line.counts import counted
from tidemark.command_line.verbs import Verb


@click.command(
    cls=Verb,
    examples=["tidemark setup", "TIDEMARK_JARS_CACHE=/opt/tidemark/jars tidemark setup --s3"],
)
@click.option("--s3", is_flag=True, help="Also the jars by which executors read and write a warehouse in S3.")
@click.option("--delta", is_flag=True, help="Also the jars by which `tidemark verify --on-spark` reads the tables.")
def setup(*, s3: bool, delta: bool) -> None:
    """Downloads the jars that Spark needs, so that a service starts without a network.

    TIDEMARK_JARS_CACHE names their folder, by default ~/.cache/tidemark/jars, and TIDEMARK_MAVEN_MIRROR the repository.
    A jar that is present, with its hash, is not downloaded again.
    """
    from tidemark.pipeline.runtime.jars import cache, jars_of

    jars = [jar for name in ("spark", *(["s3"] if s3 else []), *(["delta"] if delta else [])) for jar in jars_of(name)]
    click.echo(f"{counted(len(jars), 'jar', 'jars')} in {cache()}")
