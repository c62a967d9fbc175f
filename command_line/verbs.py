"""Verbs: Click commands with sections and examples in their help, imported on demand."""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import click

_DEFAULT_SECTION = "Options"
_WIDEST_LINE = 110


class SectionOption(click.Option):
    """An option that help shows under the heading `section`."""

    def __init__(self, *arguments: Any, section: str = _DEFAULT_SECTION, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.section = section


class Verb(click.Command):
    """A command with examples; `tests/setup/test_help.py` parses each of them."""

    def __init__(
        self, *arguments: Any, examples: Sequence[str] = (), shows: Sequence[str] | None = None, **more: Any
    ) -> None:
        """`shows` are the beginnings of the headings that help has after the verb's own options; None: all headings."""
        super().__init__(*arguments, **more)
        self.context_settings.setdefault("max_content_width", _WIDEST_LINE)
        self.examples = tuple(examples)
        self.shows = None if shows is None else (_DEFAULT_SECTION, *shows)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options by section."""
        sections: dict[str, list[tuple[str, str]]] = {_DEFAULT_SECTION: []}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record and isinstance(option, click.Option):
                sections.setdefault(getattr(option, "section", _DEFAULT_SECTION), []).append(record)
        shown = {
            heading: records
            for heading, records in sections.items()
            if self.shows is None or heading.startswith(self.shows)
        }
        for heading, records in shown.items():
            with formatter.section(heading):
                formatter.write_dl(records)

        if len(shown) < len(sections):
            formatter.write("\nAll other settings are options, too: `run --help` lists them.\n")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the examples without wrapping their lines."""
        super().format_epilog(ctx, formatter)
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


class _Deferred(click.Command):
    """A placeholder for a verb that is not imported yet."""

    def __init__(self, name: str, target: str, summary: str) -> None:
        super().__init__(name, help=summary)
        self._target = target

    def load(self) -> click.Command:
        module, _, name = self._target.partition(":")
        loaded: click.Command = getattr(importlib.import_module(module), name)
        return loaded


class Verbs(click.Group):
    """A group that imports a verb only to run it or to show its help, so that listing verbs is quick."""

    def __init__(self, name: str, verbs: Mapping[str, tuple[str, str]], **more: Any) -> None:
        """`verbs` maps each name to its target (`module:name`) and a summary of one line."""
        deferred = [_Deferred(verb, target, summary) for verb, (target, summary) in verbs.items()]
        super().__init__(name, commands=deferred, **more)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Imports the verb that the first argument names."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, _Deferred) else command, rest
