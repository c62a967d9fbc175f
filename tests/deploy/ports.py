"""The ports of docker-compose.yml: as docs/security.md lists them, and as its processes have them open."""

from collections.abc import Iterable, Mapping
from typing import Final

from tests.deploy.containers import HOST, Here
from tests.security.page import ports
from tests.support.processes import Process
from tests.support.sockets import family, listening

_CHOSEN: Final = "chosen by Linux"
Open = dict[str, set[str]]
"""Addresses `host:port` by service, with the ports of the file; a port that Linux chose has no number."""


def listed(services: Iterable[str]) -> Open:
    """Returns the addresses that the page lists for some services; as processes they listen on this machine alone."""
    rows = [row for row in ports() if row.port != "none"]
    return {name: {f"{HOST}:{row.port}" for row in rows if row.service == name} for name in services}


def scanned(here: Here, processes: Mapping[str, Process]) -> Open:
    """Returns the addresses on which processes and their descendants listen."""
    names = {own: there for there, own in here.ports.items()}
    return {
        name: {f"{host}:{names.get(port, _CHOSEN)}" for host, port in listening(*family(process.popen.pid))}
        for name, process in processes.items()
    }
