"""A public clickstream of a shop: the file `ecom.csv.gz` of the wheel of retentioneering, by hash.

Not a dependency: a nightly test fetches the wheel (1.2 MB) at its first use, into the folder of
`TIDEMARK_JARS_CACHE`.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from dev.environment import find_uv, uv_environment
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.runtime.jars import cache

_LOCK: Final = Path(__file__).with_name("clickstream.lock")
_FILE: Final = Path("retentioneering") / "datasets" / "ecom.csv.gz"
_INTO: Final = "clickstream-5.2.4.csv.gz"


def clickstream() -> Path:
    """Returns the path of the file, fetched if missing: columns `user_id`, `event`, `timestamp` and others.

    Raises SetUpError if the wheel is not available, or is another.
    """
    path = cache() / _INTO
    if not path.exists():
        cache().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache()) as folder:
            _install(Path(folder))
            shutil.move(Path(folder) / _FILE, path)
    return path


def _install(folder: Path) -> None:
    """Installs the wheel of the lock into a folder, without its dependencies."""
    uv = find_uv()
    if uv is None:
        raise SetUpError("uv is neither on PATH nor in .tools: run `make setup`")
    command = [uv, "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    done = subprocess.run(
        [*command, "--target", folder, "--requirements", _LOCK],
        env=uv_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SetUpError(f"the wheel of {_LOCK.name} could not be fetched: {done.stderr.strip()}")
