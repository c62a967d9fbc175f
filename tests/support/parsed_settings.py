"""Settings from arguments of the command line."""

from pathlib import Path

from tidemark.pipeline.commands.options import flags_of
from tidemark.pipeline.commands.run import run
from tidemark.pipeline.settings.load import read_sources, settings_of
from tidemark.pipeline.settings.model import Settings


def parsed_settings(*words: str) -> Settings:
    """Returns the settings of `tidemark run` with these arguments. Raises click.UsageError for an unknown argument."""
    with run.make_context("run", list(words)) as context:
        config: Path | None = context.params["config"]
        return settings_of(read_sources(flags_of(context), config))
