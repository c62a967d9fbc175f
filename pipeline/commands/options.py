"""What verbs have in common: the settings as options, the warehouse, and how times are written."""

import functools
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import CompletionItem
from pydantic import TypeAdapter, ValidationError

from command_line.times import instant_ms
from command_line.types import Parsed, named
from command_line.verbs import SectionOption
from pipeline.errors import SetUpError
from pipeline.settings.durations import PositiveDuration
from pipeline.settings.load import CONFIG, Flags, read_file, read_sources, settings_of
from pipeline.settings.setting_catalogue import Setting, catalogue
from pipeline.settings.sources import Source

_SHORT: Final = {"kafka.bootstrap_servers": "--bootstrap-servers", "kafka.topic": "--topic", "kafka.start": "--start"}
_USUAL: Final = (
    *("kafka.topic", "kafka.bootstrap_servers", "warehouse", "schemas.folder", "schemas.registry.url"),
    *("window.size", "reports", "time.bound", "time.allowed_lateness"),
)
"""Settings that help shows first, in this order."""
_FLAGS: Final = "tidemark.flags"
"""Where a context keeps what was said of settings."""
Run = Callable[..., object]
"""A verb; one that returns no exit code ends with 0."""


def _positive(text: str) -> timedelta:
    try:
        return TypeAdapter(PositiveDuration).validate_python(text)
    except ValidationError as error:
        raise ValueError(error.errors()[0]["msg"].removeprefix("Value error, ")) from error


POSITIVE_DURATION: Final = Parsed("DURATION", _positive)
TIME: Final = Parsed("TIME", instant_ms)
"""An ISO time, as milliseconds since the epoch."""
_PLACES: Final = {"FOLDER": "dir", "FILE": "file"}
"""What a shell may complete, by the form of a setting."""


def settings_options(run: Run) -> Run:
    """Gives a verb every setting as an option, and what they come to as its argument `settings`."""

    @functools.wraps(run)
    def told(*arguments: Any, sources: Sequence[Source], **own: Any) -> object:
        return run(*arguments, settings=settings_of(sources), **own)

    return sources_options(told)


def sources_options(run: Run) -> Run:
    """Gives a verb every setting as an option, and where they were told, strongest first, as its argument `sources`."""

    @functools.wraps(run)
    def told(*arguments: Any, config: Path | None, **own: Any) -> object:
        return run(*arguments, sources=read_sources(flags_of(click.get_current_context()), config), **own)

    decorated: Run = told
    settings = sorted(catalogue(), key=_rank)
    for setting in reversed(settings):
        decorated = _option(setting)(decorated)
    return _config_option("Settings in TOML. A flag wins over the environment, and that over the file.")(decorated)


def choosing_events(*reasons: str, by_default: str) -> Callable[[Run], Run]:
    """Gives a verb the options by which dead letters are chosen, and `dry_run`."""
    options = (
        click.option("--from", "since", type=TIME, help="Events from this time on, as 2024-05-01T12:00:00Z."),
        click.option("--to", "until", type=TIME, help="Events before this time."),
        click.option("--user", "users", multiple=True, type=named("ID"), help="Of this user; may be given again."),
        click.option("--page", "pages", multiple=True, type=named("URL"), help="Of this page; may be given again."),
        click.option(
            "--reason",
            "reasons",
            multiple=True,
            type=click.Choice(reasons),
            help=f"Why they are dead letters; may be given again. By default {by_default}.",
        ),
        click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing."),
    )
    return lambda run: functools.reduce(lambda decorated, option: option(decorated), reversed(options), run)


def flags_of(context: click.Context) -> Flags:
    """What was said of settings, where a verb has them as options."""
    said: Flags = context.meta.get(_FLAGS, {})
    return said


def warehouse_option(run: Run) -> Run:
    """Gives a verb its argument `warehouse`, from where settings come from."""
    named = click.option(
        "--warehouse",
        type=click.Path(),
        envvar="TIDEMARK_WAREHOUSE",
        show_envvar=True,
        required=True,
        metavar="FOLDER",
        help=next(setting.meaning for setting in catalogue() if setting.name == "warehouse"),
    )
    # Eager: it gives `--warehouse` and `--zone` what they are by default.
    in_file = _config_option(
        "Settings in TOML, of which the warehouse is read.", is_eager=True, expose_value=False, callback=_from_file
    )
    return named(in_file(run))


def _config_option(meaning: str, **more: Any) -> Callable[[Run], Run]:
    form = click.Path(path_type=Path)
    return click.option("--config", type=form, envvar=CONFIG, show_envvar=True, metavar="FILE", help=meaning, **more)


def _from_file(context: click.Context, _: click.Parameter, config: Path | None) -> None:
    found = {} if context.resilient_parsing else read_file(config)
    window = found.get("window")
    told = {"warehouse": found.get("warehouse"), "zone": window.get("zone") if isinstance(window, dict) else None}
    context.default_map = {name: value for name, value in told.items() if value}


def _rank(setting: Setting) -> int:
    """Returns the position of a setting among the usual ones; the others follow in the order of the catalogue."""
    return _USUAL.index(setting.name) if setting.name in _USUAL else len(_USUAL)


def _option(setting: Setting) -> Callable[[Run], Run]:
    """The flag of a setting. What it means, and whether it is right, is the business of the tree.

    That of a secret is there to be refused: other users of a machine see the arguments of a process.
    """
    default = "" if setting.default is None or setting.is_map else f"  [default: {setting.default}]"
    return click.option(
        *([_SHORT[setting.name]] if setting.name in _SHORT else []),
        setting.flag,
        "__".join(setting.path),
        cls=SectionOption,
        section="Usual settings" if setting.name in _USUAL else setting.section,
        type=click.Path() if setting.form in _PLACES else str,
        multiple=setting.is_map,
        metavar=setting.form,
        help=setting.meaning + default,
        expose_value=False,
        hidden=setting.is_secret,
        callback=functools.partial(_keep, setting),
        shell_complete=functools.partial(_complete, setting),
    )


def _keep(setting: Setting, context: click.Context, _: click.Parameter, value: Any) -> None:
    if value in (None, ()):
        return
    if setting.is_secret:
        raise SetUpError(
            f"{setting.name} may be a secret, and other users of this machine see the arguments of a process: "
            f"set {setting.variable} or write it in the settings file"
        )
    context.meta.setdefault(_FLAGS, {})[setting.name] = value


def _complete(setting: Setting, _: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    if setting.form in _PLACES:
        return [CompletionItem(incomplete, type=_PLACES[setting.form])]
    return [CompletionItem(choice) for choice in setting.choices if choice.startswith(incomplete)]
