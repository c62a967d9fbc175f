"""Settings as the command line makes them of words."""

from pathlib import Path

from pipeline.commands.options import flags_of
from pipeline.commands.run import run
from pipeline.settings.load import read_sources, settings_of
from pipeline.settings.model import Settings


def settings_told(*words: str) -> Settings:
    """What `tidemark run` goes by when it is told these words. Raises click.UsageError where it does not know one."""
    with run.make_context("run", list(words)) as context:
        config: Path | None = context.params["config"]
        return settings_of(read_sources(flags_of(context), config))
