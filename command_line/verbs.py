"""Verbs: Click commands whose help has sections and examples, and which are imported when they are needed."""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import click

_OWN = "Options"
_WIDEST_LINE = 110


class SectionOption(click.Option):
    """An option that help shows under a heading of its own."""

    def __init__(self, *arguments: Any, section: str = _OWN, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.section = section


class Verb(click.Command):
    """A command with examples; `tests/setup/test_help.py` parses each of them."""

    def __init__(self, *arguments: Any, examples: Sequence[str] = (), **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.context_settings.setdefault("max_content_width", _WIDEST_LINE)
        self.examples = tuple(examples)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options, those of a section together."""
        sections: dict[str, list[tuple[str, str]]] = {_OWN: []}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record and isinstance(option, click.Option):
                sections.setdefault(getattr(option, "section", _OWN), []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the examples as they are typed, however long."""
        super().format_epilog(ctx, formatter)
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


class _Deferred(click.Command):
    """Stands for a verb that is not imported yet."""

    def __init__(self, name: str, place: str, summary: str) -> None:
        super().__init__(name, help=summary)
        self._place = place

    def load(self) -> click.Command:
        module, _, name = self._place.partition(":")
        loaded: click.Command = getattr(importlib.import_module(module), name)
        return loaded


class Verbs(click.Group):
    """A group that imports a verb only to run it or to tell of it, so that listing them is quick."""

    def __init__(self, name: str, verbs: Mapping[str, tuple[str, str]], **more: Any) -> None:
        """`verbs` gives for each name where it is, as `module:name`, and one line of what it does."""
        deferred = [_Deferred(verb, place, summary) for verb, (place, summary) in verbs.items()]
        super().__init__(name, commands=deferred, **more)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that the first argument names, imported."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, _Deferred) else command, rest
