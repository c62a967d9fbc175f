"""Creates .venv from a bare Python: `python3 dev/environment.py`. Uses the standard library only.

Uses the uv on PATH, or else installs uv into .tools. The interpreter of .venv is the interpreter that runs this script.
TIDEMARK_ENVIRONMENT is another folder for it, such as .venv-newest. Arguments, such as `--no-dev`, go to `uv sync`.
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
ENVIRONMENT = ROOT / os.environ.get("TIDEMARK_ENVIRONMENT", ".venv")
TOOLS = ROOT / ".tools"
OLDEST_PYTHON = (3, 11, 2)
# The first version with dependency groups.
OLDEST_UV = (0, 5)
PYPI_PIP = "https://pypi.org/pypi/pip/json"
SILENCE_S = 30.0


def find_uv() -> str | None:
    """Returns the path of a recent enough uv, on PATH or in .tools; None if neither has one."""
    for candidate in (shutil.which("uv"), str(TOOLS / "bin" / "uv")):
        if candidate and _version(candidate) >= OLDEST_UV:
            return candidate
    return None


def install_uv() -> str:
    """Installs uv into .tools and returns its path. Raises RuntimeError with a sentence."""
    python = str(TOOLS / "bin" / "python")
    try:
        # Debian packages ensurepip separately, so `venv` cannot install pip; it is installed next.
        _run(sys.executable, "-m", "venv", "--clear", "--without-pip", str(TOOLS))
        _run(*_pip(python), "install", "--quiet", "--disable-pip-version-check", "uv")
    except (OSError, ValueError, subprocess.CalledProcessError) as cause:
        raise RuntimeError(
            f"uv could not be installed from PyPI ({cause}); install uv and run `make` again."
        ) from cause
    uv = find_uv()
    if uv is None:
        raise RuntimeError("The uv that PyPI offers for this platform does not run; install uv and run `make` again.")
    return uv


def sync(uv: str, *options: str) -> int:
    """Makes the environment match uv.lock, with this interpreter and `options`, and returns uv's exit code.

    The group `build` is installed first, because uv may fetch nothing for a build.
    """
    command = [uv, "sync", "--locked", "--python", sys.executable]
    for further in (["--only-group", "build", "--inexact"], options):
        code = subprocess.run([*command, *further], cwd=ROOT, env=uv_environment(), check=False).returncode
        if code:
            return code
    return 0


def uv_environment() -> dict[str, str]:
    """Returns the environment of uv: no other Python, this .venv, and the certificates that this machine trusts.

    By default uv uses its own certificates; pip, Java and curl trust those of a company's proxy, so uv should, too.
    """
    paths = ssl.get_default_verify_paths()
    defaults = {"UV_SYSTEM_CERTS": "true"} if paths.cafile or paths.capath else {}
    required = {"UV_PYTHON_DOWNLOADS": "never", "UV_PROJECT_ENVIRONMENT": str(ENVIRONMENT)}
    return {**defaults, **os.environ, **required}


def _version(uv: str) -> tuple[int, ...]:
    try:
        output = subprocess.run([uv, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ()
    match = re.search(r"(\d+)\.(\d+)", output)
    return tuple(map(int, match.groups())) if match else ()


def _pip(python: str) -> list[str]:
    """Returns the command that runs pip: the pip bundled with `python`, else PyPI's wheel, which runs uninstalled."""
    bundled = subprocess.run([python, "-m", "ensurepip"], capture_output=True, check=False)
    return [python, "-m", "pip"] if bundled.returncode == 0 else [python, str(_pip_wheel() / "pip")]


def _pip_wheel() -> Path:
    with urllib.request.urlopen(PYPI_PIP, timeout=SILENCE_S) as answer:
        wheel = next(file for file in json.load(answer)["urls"] if file["packagetype"] == "bdist_wheel")
    # A mirror of PyPI may return relative URLs.
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
    """Creates or updates the environment; returns 2 after printing one sentence if it cannot."""
    if sys.version_info < OLDEST_PYTHON:
        sys.stderr.write(f"Tidemark needs Python 3.11.2 or newer, this is {sys.version.split()[0]}; set PYTHON=...\n")
        return 2
    try:
        return 2 if sync(find_uv() or install_uv(), *sys.argv[1:]) else 0
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
