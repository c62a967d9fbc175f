"""Options that verbs share: the settings, the warehouse, times and durations."""

from collections.abc import Callable, Sequence
from functools import partial, reduce, wraps
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import CompletionItem
from pydantic import TypeAdapter, ValidationError

from tidemark.command_line.times import instant_ms
from tidemark.command_line.types import Parsed, named
from tidemark.command_line.verbs import SectionOption
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.settings.durations import PositiveDuration
from tidemark.pipeline.settings.load import CONFIG, Flags, read_file, read_sources, settings_of
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.settings.setting_catalogue import Setting, catalogue
from tidemark.pipeline.settings.sources import Source
from tidemark.pipeline.settings.warehouse import Warehouse, absolute

_SHORT: Final = {"kafka.bootstrap_servers": "--bootstrap-servers", "kafka.topic": "--topic", "kafka.start": "--start"}
_USUAL: Final = (
    *("kafka.topic", "kafka.bootstrap_servers", "warehouse"),
    *("schemas.format", "schemas.folder", "schemas.registry.url"),
    *("window.size", "reports", "time.bound", "time.allowed_lateness"),
)
"""Settings that help shows first, in this order."""
_FILE: Final = "tidemark.file"
"""Key of the path of the settings file in a Click context."""
_FLAGS: Final = "tidemark.flags"
"""Key of the settings flags in a Click context."""
VerbFunction = Callable[..., object]
"""A verb. Its exit code is 0 if it returns None."""


def _validated(form: Any, text: str) -> Any:
    """Returns a text as the type `form` of a setting. Raises ValueError with a sentence."""
    try:
        return TypeAdapter(form).validate_python(text)
    except ValidationError as error:
        raise ValueError(error.errors()[0]["msg"].removeprefix("Value error, ")) from error


POSITIVE_DURATION: Final = Parsed("DURATION", partial(_validated, PositiveDuration))
TIME: Final = Parsed("TIME", instant_ms)
"""An ISO time, converted to milliseconds since 1970."""
_COMPLETIONS: Final = {"FOLDER": "dir", "FILE": "file"}
"""Kind of file name that a shell completes, by the form of a setting."""


def settings_options(run: VerbFunction) -> VerbFunction:
    """Adds every setting to a verb as an option, and passes the result as its argument `settings`."""

    @wraps(run)
    def with_settings(*arguments: Any, sources: Sequence[Source], **own: Any) -> object:
        return run(*arguments, settings=settings_of(sources), **own)

    return sources_options(with_settings)


def sources_options(run: VerbFunction) -> VerbFunction:
    """Adds every setting to a verb as an option, and passes its argument `sources`, strongest first."""

    @wraps(run)
    def with_sources(*arguments: Any, config: Path | None, **own: Any) -> object:
        return run(*arguments, sources=read_sources(flags_of(click.get_current_context()), config), **own)

    decorated: VerbFunction = with_sources
    settings = sorted(catalogue(), key=_rank)
    for setting in reversed(settings):
        decorated = _option(setting)(decorated)
    return _config_option("Settings file in TOML. Flags override the environment, which overrides the file.")(decorated)


def selection_options(*reasons: str, by_default: str) -> Callable[[VerbFunction], VerbFunction]:
    """Adds the options that select dead letters, and `dry_run`, to a verb."""
    options = (
        click.option("--from", "since", type=TIME, help="Events at or after this time, such as 2024-05-01T12:00:00Z."),
        click.option("--to", "until", type=TIME, help="Events before this time."),
        click.option("--user", "users", multiple=True, type=named("ID"), help="Events of this user; may be repeated."),
        click.option("--page", "pages", multiple=True, type=named("URL"), help="Events of this page; may be repeated."),
        click.option(
            "--reason",
            "reasons",
            multiple=True,
            type=click.Choice(reasons),
            help=f"Dead letters with this reason; may be repeated. By default {by_default}.",
        ),
        click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing."),
    )
    return lambda run: reduce(lambda decorated, option: option(decorated), reversed(options), run)


def flags_of(context: click.Context) -> Flags:
    """Returns the settings flags of the command line; empty if the verb has no settings."""
    flags: Flags = context.meta.get(_FLAGS, {})
    return flags


def warehouse_option(run: VerbFunction) -> VerbFunction:
    """Adds the option `--warehouse`, which is also read from the environment and the settings file, to a verb."""
    named = click.option(
        "--warehouse",
        type=click.Path(),
        envvar="TIDEMARK_WAREHOUSE",
        show_envvar=True,
        required=True,
        metavar="FOLDER",
        callback=lambda _, __, value: _warehouse(value),
        help=next(setting.meaning for setting in catalogue() if setting.name == "warehouse"),
    )
    # Eager, because the file has the defaults of `--warehouse` and `--zone`.
    in_file = _config_option(
        "Settings file in TOML; only the warehouse is read.", is_eager=True, expose_value=False, callback=_from_file
    )
    return named(in_file(run))


def _warehouse(text: str) -> str:
    """Returns the absolute path or the URI of a warehouse. Raises click.BadParameter."""
    try:
        return _place(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _place(text: str) -> str:
    return absolute(_validated(Warehouse, text))


WAREHOUSE: Final = Parsed("WAREHOUSE", _place)
"""The type of an argument: a folder or a URI, converted to an absolute path or the URI."""


def settings_in_file() -> Settings:
    """Returns the settings in the environment and in the file of `warehouse_option`. Raises SetUpError."""
    return settings_of(read_sources({}, click.get_current_context().meta.get(_FILE)))


def _config_option(meaning: str, **more: Any) -> Callable[[VerbFunction], VerbFunction]:
    form = click.Path(path_type=Path)
    return click.option("--config", type=form, envvar=CONFIG, show_envvar=True, metavar="FILE", help=meaning, **more)


def _from_file(context: click.Context, _: click.Parameter, config: Path | None) -> None:
    context.meta[_FILE] = config
    settings = {} if context.resilient_parsing else read_file(config)
    window = settings.get("window")
    defaults = {
        "warehouse": settings.get("warehouse"),
        "zone": window.get("zone") if isinstance(window, dict) else None,
    }
    context.default_map = {name: value for name, value in defaults.items() if value}


def _rank(setting: Setting) -> int:
    """Returns the position of a setting among the usual ones; the others follow in the order of the catalogue."""
    return _USUAL.index(setting.name) if setting.name in _USUAL else len(_USUAL)


def _option(setting: Setting) -> Callable[[VerbFunction], VerbFunction]:
    """Returns the option of a setting. Its value is validated with the tree of settings.

    The option of a secret exists only to be refused, because other users of a machine see the arguments of a process.
    """
    default = "" if setting.default is None or setting.is_map else f"  [default: {setting.default}]"
    return click.option(
        *([_SHORT[setting.name]] if setting.name in _SHORT else []),
        setting.flag,
        "__".join(setting.path),
        cls=SectionOption,
        section="Usual settings" if setting.name in _USUAL else setting.section,
        type=click.Path() if setting.form in _COMPLETIONS else str,
        multiple=setting.is_map,
        metavar=setting.form,
        help=setting.meaning + default,
        expose_value=False,
        hidden=setting.is_secret,
        callback=partial(_keep, setting),
        shell_complete=partial(_complete, setting),
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
    if setting.form in _COMPLETIONS:
        return [CompletionItem(incomplete, type=_COMPLETIONS[setting.form])]
    return [CompletionItem(choice) for choice in setting.choices if choice.startswith(incomplete)]
