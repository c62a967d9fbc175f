"""The services of docker-compose.yml in containers of podman, with the options of the file.

Without delegated control groups there are no memory limits, and containers share the network of this machine: ports and
host names are those of `Here`. All other options are as compose passes them to Docker.
"""

import json
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from dev.image import NAME
from dev.podman import podman
from tests.deploy.containers import HOST, Here
from tests.deploy.files import services, values_of

_HERE: Final = ("--cgroups=disabled", "--network=host", "--read-only-tmpfs=false", "--no-healthcheck")
"""Without a schedule of health checks, which needs a running systemd: a test calls them."""


@dataclass
class Containers:
    """Containers and named volumes of one test, which are removed at its end."""

    here: Here
    prefix: str = field(default_factory=lambda: f"tidemark-{uuid.uuid4().hex[:8]}")
    user: int | None = None
    """The id to run under, without an account and in group 0, as on OpenShift. By default that of the image."""
    _names: list[str] = field(default_factory=list)
    _volumes: set[str] = field(default_factory=set)

    @property
    def inside(self) -> Here:
        """Maps ports and host names, but no folders, which are those of the containers."""
        return Here(Path("/var/lib"), self.here.ports)

    def start(self, service: str, *more: str, **variables: str) -> "Container":
        """Starts a container of a service of the file, with further arguments and variables."""
        name = f"{self.prefix}-{service}"
        self._names.append(name)
        options = self._options(service, variables)
        podman("run", "--detach", f"--name={name}", *options, NAME, *self.inside.words(service), *more)
        return Container(name, _health_check(service, self.inside))

    def run(self, service: str, *words: str) -> str:
        """Returns the output of a command in a new container of a service, as `docker compose run --rm` does."""
        return podman("run", "--rm", *self._options(service, {}), NAME, *words)

    def volume(self, name: str) -> Path:
        """Returns the folder of a named volume."""
        return Path(podman("volume", "inspect", "--format={{.Mountpoint}}", f"{self.prefix}-{name}"))

    def _options(self, service: str, more: dict[str, str]) -> list[str]:
        spec = services()[service]
        given = spec.get("environment", {}).items()
        variables = {name: HOST if value in services() else self.inside(str(value)) for name, value in given} | more
        volumes = [volume for volume in spec.get("volumes", []) if volume[0] not in "./"]
        self._volumes |= {f"{self.prefix}-{volume.split(':')[0]}" for volume in volumes}
        return [
            *_HERE,
            *(f"--env={name}={value}" for name, value in variables.items()),
            *(f"--volume={self.prefix}-{volume}" for volume in volumes),
            *([f"--user={self.user}:0", "--passwd=false"] if self.user else []),
            *(f"--tmpfs={_as_docker(mount)}" for mount in spec["tmpfs"]),
            *(f"--cap-drop={capability}" for capability in spec["cap_drop"]),
            *(f"--security-opt={option.removesuffix(':true')}" for option in spec["security_opt"]),
            *(["--read-only"] if spec["read_only"] else []),
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in self._names:
            podman("rm", "--force", "--volumes", "--time=0", "--ignore", name)
        for name in self._volumes:
            podman("volume", "rm", "--force", name)


@dataclass(frozen=True)
class Container:
    """A container by its name, and the command of its health check."""

    name: str
    health_check: list[str]

    @property
    def said(self) -> str:
        """All that it has printed."""
        return podman("logs", "--names=false", self.name, errors=True)

    @property
    def state(self) -> dict[str, Any]:
        """Its state, as `podman inspect` has it."""
        state: dict[str, Any] = json.loads(podman("inspect", "--format={{json .State}}", self.name))
        return state

    def stop(self, seconds: int) -> None:
        """Sends SIGTERM, and kills it after `seconds`."""
        podman("stop", f"--time={seconds}", self.name)

    def start(self) -> None:
        """Starts it again, as Docker does after a reboot."""
        podman("start", self.name)

    def kill(self) -> None:
        """Kills it, as a power cut does."""
        podman("kill", "--signal=KILL", self.name)

    def check_health(self) -> None:
        """Runs its health check. Raises RuntimeError if it is unhealthy."""
        podman("exec", self.name, *self.health_check)


def _as_docker(mount: str) -> str:
    """Returns a tmpfs with the options that Docker adds: podman alone would mount it with exec."""
    path, _, given = mount.partition(":")
    options = given.split(",") if given else []
    return f"{path}:{','.join(['rw', 'nosuid', 'nodev', *([] if 'exec' in options else ['noexec']), *options])}"


def _health_check(service: str, inside: Here) -> list[str]:
    """Returns the command of a service's health check, which is the image's if the file has no other."""
    (check,) = values_of("HEALTHCHECK")
    of_image = {"test": ["CMD", *json.loads(check.partition(" CMD ")[2])]}
    words = services()[service].get("healthcheck", of_image).get("test", ["NONE"])
    return [inside(word) for word in words[1:]]
