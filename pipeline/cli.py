"""`tidemark`: one thin command per verb."""

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from pipeline.commands.options import add_warehouse
from pipeline.errors import SetUpError, TidemarkError

_SET_UP: Final = 2
_FAILED: Final = 1


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a verb; returns the exit code: 0 done, 1 failed, 2 something must be put right first."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="tidemark", description="Windowed user behaviour from Kafka to Delta Lake.")
    parser.add_argument("verb", choices=sorted(_VERBS), help="what to do; `tidemark VERB --help` tells more")
    verb = parser.parse_args(arguments[:1]).verb
    try:
        return _VERBS[verb](arguments[1:])
    except SetUpError as error:
        return _say(error, _SET_UP)
    except TidemarkError as error:
        return _say(error, _FAILED)


def _run(arguments: Sequence[str]) -> int:
    parser = _run_parser()
    own, settings = parser.parse_known_args(arguments)
    if {"-h", "--help"} & {*settings}:
        print(parser.format_help())  # and then, from where they are, the settings
    from pipeline.commands.run.supervise import catch_up, supervise
    from pipeline.settings.load import load_settings  # not at the top: `status` needs neither these nor Spark

    loaded = load_settings(settings, own.config)
    if own.until_caught_up:
        catch_up(loaded)
    else:
        supervise(loaded, _duration("--give-up-after", own.give_up_after))
    return 0


def _run_parser() -> argparse.ArgumentParser:
    """The options of `run` that are no settings; the rest of the command line is."""
    parser = argparse.ArgumentParser(
        prog="tidemark run", usage="%(prog)s [option ...] [setting ...]", add_help=False, allow_abbrev=False
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as TOML (default: TIDEMARK_CONFIG)")
    parser.add_argument(
        "--until-caught-up", action="store_true", help="read to the end of the topic once, instead of on and on"
    )
    parser.add_argument(
        "--give-up-after",
        metavar="DURATION",
        help="end with exit code 1 when attempts committed nothing for so long, such as 30m (default: try for ever)",
    )
    return parser


def _duration(option: str, text: str | None) -> timedelta | None:
    if text is None:
        return None
    from pydantic import TypeAdapter, ValidationError

    from pipeline.settings.durations import PositiveDuration

    try:
        return TypeAdapter(PositiveDuration).validate_python(text)
    except ValidationError as error:
        raise SetUpError(f"{option}: {error.errors()[0]['msg'].removeprefix('Value error, ')}") from error


def _status(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="tidemark status", description="A warehouse at rest, without Spark.")
    add_warehouse(parser)
    parser.add_argument("--report", help="whose latest windows to show (default: page_views, or the first)")
    own = parser.parse_args(arguments)
    from pipeline.commands.status.status import print_status

    print_status(own.warehouse, own.report)
    return 0


def _correct(arguments: Sequence[str]) -> int:
    from pipeline.commands.correct.correct import correct

    return correct(arguments)


def _live(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="tidemark live",
        description="SQL of a view that adds a report's open windows so far to the published ones, with their state.",
    )
    add_warehouse(parser)
    parser.add_argument("--report", default="page_views")
    parser.add_argument("--engine", choices=["spark", "duckdb", "delta-rs"], default="spark")
    own = parser.parse_args(arguments)
    from pipeline.commands.live import print_view

    print_view(own.warehouse, own.report, own.engine)
    return 0


def _advise(arguments: Sequence[str]) -> int:
    from pipeline.commands.advise.advise import advise

    return advise(arguments)


def _reset_watermark(arguments: Sequence[str]) -> int:
    from pipeline.commands.reset import reset_watermark

    return reset_watermark(arguments)


def _sql(arguments: Sequence[str]) -> int:
    from pipeline.commands.sql import FORMATS, ask, statements
    from pipeline.tables.engines import Engine

    parser = argparse.ArgumentParser(
        prog="tidemark sql",
        description="DuckDB over a warehouse: a view of each table, with times as timestamps, and of each report NAME "
        "the view NAME_live with its open windows. It only reads, and may run beside the service.",
    )
    parser.add_argument("statement", nargs="?", help="what to ask; without it a shell opens, where .help tells more")
    add_warehouse(parser)
    parser.add_argument("--format", choices=[*FORMATS], default="table", help="how rows are shown (default: table)")
    parser.add_argument(
        "--print",
        choices=["duckdb", "spark"],
        help="print the statements that make the views, for a session of your own, and end",
    )
    own = parser.parse_args(arguments)
    if own.print:
        print(statements(own.warehouse, Engine(own.print)), end="")
        return 0
    return ask(own.warehouse, own.statement, own.format)


def _sql_server(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="tidemark sql-server",
        description="A SQL end point for BI tools, in the protocol of HiveServer2: the views of `tidemark sql`. "
        "It asks nobody who they are: let only those reach it who may read, and run it as a user who may only read.",
    )
    add_warehouse(parser)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=10000, help="port to listen on (default: 10000)")
    parser.add_argument("--memory", default="2g", help="heap of its Java process (default: 2g)")
    own = parser.parse_args(arguments)
    from pipeline.commands.sql_server import serve_sql

    serve_sql(own.warehouse, own.host, own.port, own.memory)
    return 0


def _verify(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="tidemark verify", description="Holds a warehouse against its laws, at rest or in use. Needs no Spark."
    )
    add_warehouse(parser)
    own = parser.parse_args(arguments)
    from pipeline.commands.verify.laws import verify
    from pipeline.commands.verify.render import show

    verification = verify(own.warehouse)
    show(verification)
    return 0 if verification.is_sound else _FAILED


def _say(error: Exception, code: int) -> int:
    print(f"tidemark: {error}", file=sys.stderr)
    return code


_VERBS: Final[dict[str, Callable[[Sequence[str]], int]]] = {
    "advise": _advise,
    "correct": _correct,
    "live": _live,
    "reset-watermark": _reset_watermark,
    "run": _run,
    "sql": _sql,
    "sql-server": _sql_server,
    "status": _status,
    "verify": _verify,
}

if __name__ == "__main__":
    sys.exit(main())
