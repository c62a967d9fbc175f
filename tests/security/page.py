"""The tables of docs/security.md as data."""

from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "security.md"


class Port(NamedTuple):
    """A row of the table of ports: `port` is a number, `none` or `chosen by Linux`; `published` an address or `no`."""

    service: str
    port: str
    published: str


def rows(heading: str) -> list[list[str]]:
    """Returns the cells of the first table after a heading, without its own head."""
    section = PAGE.read_text().split(f"\n{heading}\n")[1].split("\n#")[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table[2:]]


def ports() -> list[Port]:
    """Returns the ports that the page lists for docker-compose.yml."""
    found = rows("### Ports of `docker-compose.yml`")
    return [Port(service.strip("`"), port, published) for service, port, published, *_ in found]
