"""`tidemark health`: what the service beside it answers to `/healthz`, found by the settings that both have."""

import argparse
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pipeline.errors import TransientError
from pipeline.settings.load import load_settings
from pipeline.settings.model import MetricsSettings

_ANSWER_S: Final = 4
_ANYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - not to listen there
_DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Whatever proxy the environment names."""


def health(arguments: Sequence[str]) -> str:
    """The sentence of a service that is well; what is no option of its own is a setting, as for `run`.

    Raises TransientError with the sentence of one that is not, or where none answers.
    """
    own, settings = _parser().parse_known_args(arguments)
    return _ask(load_settings(settings, own.config).metrics)


def _ask(metrics: MetricsSettings) -> str:
    host = _ANYWHERE.get(metrics.host, metrics.host)
    address = f"http://{f'[{host}]' if ':' in host else host}:{metrics.port}/healthz"
    try:
        with _DIRECT.open(address, timeout=_ANSWER_S) as page:
            return str(page.read().decode().strip())
    except urllib.error.HTTPError as error:
        raise TransientError(error.read().decode().strip()) from error
    except OSError as error:
        raise TransientError(f"no service answers at {address}: {error}") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tidemark health",
        description="Asks the service beside it whether it is well; exit code 1 if not. Settings as for `run`.",
        allow_abbrev=False,
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as TOML (default: TIDEMARK_CONFIG)")
    return parser
