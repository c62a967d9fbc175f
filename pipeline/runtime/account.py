"""The account of this process: a container may run under a user id that has no entry in passwd."""

import os
import pwd
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

_OPTIONS: Final = "spark.driver.extraJavaOptions"
_JARS: Final = "spark.jars"


def has_account() -> bool:
    """Returns whether the user id of this process has an entry in passwd."""
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return True


def home() -> Path | None:
    """Returns the home directory; None if neither HOME nor passwd has one."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def without_account(properties: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Returns the properties by which Java starts without an account, with `folder` as its home directory.

    Java calls that directory `?`, in which spark-submit refuses to have its cache. And Hadoop's client, which would
    look for jars, fails without a name of the user, so spark-submit must not use it: `local:` is for files that exist.
    """
    jars = properties.get(_JARS, "").split(",")
    return {
        "spark.jars.ivy": str(folder / "ivy"),
        **properties,
        _OPTIONS: f'"-Duser.home={folder}" {properties.get(_OPTIONS, "")}',
        _JARS: ",".join(f"local:{quote(jar)}" if jar.startswith("/") else jar for jar in jars),
    }
