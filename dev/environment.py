"""From a bare Python to a complete .venv: `python3 dev/environment.py`. Standard library only: nothing else is there.

uv is taken from PATH, else put into .tools; the interpreter is the one this runs on, never a downloaded one.
"""

import hashlib
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / ".tools"
OLDEST_PYTHON = (3, 11)
# The first that knows dependency groups.
OLDEST_UV = (0, 5)
PYPI_PIP = "https://pypi.org/pypi/pip/json"
SILENCE_S = 30.0


def find_uv() -> str | None:
    """A recent enough uv, of PATH or of .tools; None when there is none."""
    for candidate in (shutil.which("uv"), str(TOOLS / "bin" / "uv")):
        if candidate and _version(candidate) >= OLDEST_UV:
            return candidate
    return None


def install_uv() -> str:
    """Put uv into .tools; returns its path. Raises RuntimeError with a sentence."""
    python = str(TOOLS / "bin" / "python")
    try:
        # Debian splits off what `venv` needs to bring pip along, so pip comes second.
        _run(sys.executable, "-m", "venv", "--clear", "--without-pip", str(TOOLS))
        _run(*_pip(python), "install", "--quiet", "--disable-pip-version-check", "uv")
    except (OSError, ValueError, subprocess.CalledProcessError) as cause:
        raise RuntimeError(
            f"uv could not be installed from PyPI ({cause}); install uv and run `make` again."
        ) from cause
    found = find_uv()
    if found is None:
        raise RuntimeError("The uv that PyPI offers for this platform does not run; install uv and run `make` again.")
    return found


def sync(uv: str) -> int:
    """Make .venv what uv.lock says, on this interpreter; returns uv's exit code.

    What builds packages comes first: uv may fetch nothing for a build.
    """
    command = [uv, "sync", "--locked", "--python", sys.executable]
    for further in (["--only-group", "build", "--inexact"], []):
        code = subprocess.run([*command, *further], cwd=ROOT, env=uv_environment(), check=False).returncode
        if code:
            return code
    return 0


def uv_environment() -> dict[str, str]:
    """The environment of uv: no other Python, this .venv, and the certificates that this machine trusts.

    uv brings its own certificates and asks for none; pip, Java and curl know those of a company's proxy, so should uv.
    """
    known = ssl.get_default_verify_paths()
    trusted = {"UV_SYSTEM_CERTS": "true"} if known.cafile or known.capath else {}
    wanted = {"UV_PYTHON_DOWNLOADS": "never", "UV_PROJECT_ENVIRONMENT": str(ROOT / ".venv")}
    return {**trusted, **os.environ, **wanted}


def _version(uv: str) -> tuple[int, ...]:
    try:
        said = subprocess.run([uv, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ()
    found = re.search(r"(\d+)\.(\d+)", said)
    return tuple(map(int, found.groups())) if found else ()


def _pip(python: str) -> list[str]:
    """How to run pip there: the one that comes with Python, else PyPI's wheel, which runs as it is."""
    bundled = subprocess.run([python, "-m", "ensurepip"], capture_output=True, check=False)
    return [python, "-m", "pip"] if bundled.returncode == 0 else [python, str(_pip_wheel() / "pip")]


def _pip_wheel() -> Path:
    with urllib.request.urlopen(PYPI_PIP, timeout=SILENCE_S) as answer:
        wheel = next(file for file in json.load(answer)["urls"] if file["packagetype"] == "bdist_wheel")
    # A proxy in front of PyPI may answer with addresses relative to its own.
    with urllib.request.urlopen(urllib.parse.urljoin(PYPI_PIP, wheel["url"]), timeout=SILENCE_S) as answer:
        content = answer.read()
    if hashlib.sha256(content).hexdigest() != wheel["digests"]["sha256"]:
        raise OSError(f"{wheel['url']} is not the file that PyPI describes")
    path = TOOLS / str(wheel["filename"])
    path.write_bytes(content)
    return path


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


def main() -> int:
    """Build or bring up to date the environment; exit code 2 and one sentence when it cannot be."""
    if sys.version_info < OLDEST_PYTHON:
        sys.stderr.write(f"Tidemark needs Python 3.11 or newer, this is {sys.version.split()[0]}; set PYTHON=...\n")
        return 2
    try:
        return 2 if sync(find_uv() or install_uv()) else 0
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
