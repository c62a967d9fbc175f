"""Builds the image with podman: `python -m dev.image`. It needs a registry of packages, but no registry of images.

The base images are made here: Debian with Python by mmdebstrap, and uv from PyPI. The first build takes ten minutes,
later ones build only the layers that have changed.
"""

import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Final

from dev.environment import find_uv, install_uv
from dev.podman import environment, has_image, missing_programs, podman

ROOT: Final = Path(__file__).parents[1]
DOCKERFILE: Final = ROOT / "deploy" / "docker" / "Dockerfile"
NAME: Final = f"localhost/tidemark:{version('tidemark-lake')}"
PYTHON_BASE: Final = "localhost/tidemark-base/python:bookworm"
UV_BASE: Final = "localhost/tidemark-base/uv:local"
_CERTIFICATES: Final = "/etc/ssl/certs/ca-certificates.crt"
_LAYERS_STAY: Final = "72h"
"""Layers of earlier builds, by their age: two gigabytes a build."""
_PACKAGES: Final = "python3,python3-venv,ca-certificates"


def make_bases() -> None:
    """Makes the base images that the storage lacks."""
    with tempfile.TemporaryDirectory() as folder:
        if not has_image(PYTHON_BASE):
            archive = Path(folder) / "base.tar"
            mmdebstrap = ["mmdebstrap", "--variant=minbase", f"--include={_PACKAGES}", "bookworm", str(archive)]
            subprocess.run(mmdebstrap, check=True)
            podman("import", archive, PYTHON_BASE)
        if not has_image(UV_BASE):
            shutil.copy(find_uv() or install_uv(), Path(folder) / "uv")
            (Path(folder) / "Dockerfile").write_text("FROM scratch\nCOPY uv /uv\n")
            podman("build", "--tag", UV_BASE, folder)


def has_bases() -> bool:
    """Returns whether a build needs no registry of images."""
    return has_image(PYTHON_BASE) and has_image(UV_BASE)


def build() -> None:
    """Builds the image; its steps use the network and the certificates of this machine. Raises CalledProcessError."""
    options = [f"--file={DOCKERFILE}", f"--tag={NAME}", "--isolation=chroot", "--network=host", "--format=docker"]
    bases = [f"--build-arg=PYTHON_IMAGE={PYTHON_BASE}", f"--build-arg=UV_IMAGE={UV_BASE}"]
    certificates = [f"--volume={_CERTIFICATES}:{_CERTIFICATES}:ro", "--env=UV_SYSTEM_CERTS=true"]
    command = ["podman", "build", *options, *bases, *certificates, str(ROOT)]
    subprocess.run(command, check=True, env=environment(), stdout=sys.stderr)
    podman("image", "prune", "--force", f"--filter=until={_LAYERS_STAY}")


def build_with_engine() -> str:
    """Builds the image with podman if the base images exist, or with Docker; returns its id, or why it is left out."""
    if not missing_programs() and has_bases():
        build()
        return podman("image", "inspect", "--format={{.Id}}", NAME)
    if _succeeds("docker", "info"):
        subprocess.run(["docker", "build", f"--file={DOCKERFILE}", f"--tag={NAME}", str(ROOT)], check=True)
        inspect = ["docker", "image", "inspect", "--format={{.Id}}", NAME]
        return subprocess.run(inspect, check=True, capture_output=True, text=True).stdout.strip()
    return "left out, because Docker does not answer, and podman has no base images (`python -m dev.image` makes them)"


def _succeeds(*command: str) -> bool:
    try:
        return subprocess.run(command, check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def main() -> int:
    """Returns 0, or 2 after a sentence if a program is missing."""
    absent = missing_programs() + ([] if shutil.which("mmdebstrap") else ["mmdebstrap"])
    if absent:
        sys.stderr.write(f"The image needs {', '.join(absent)}: `apt-get install podman buildah crun mmdebstrap`.\n")
        return 2
    make_bases()
    build()
    return 0


if __name__ == "__main__":
    sys.exit(main())
