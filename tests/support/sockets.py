"""The addresses on which processes listen, as Linux lists them. Source: proc_pid_net(5)."""

import socket
import struct
from pathlib import Path
from typing import Final, NamedTuple

_LISTEN: Final = "0A"


class Address(NamedTuple):
    """An address of this machine and a port."""

    host: str
    port: int


def listening(*pids: int) -> set[Address]:
    """Returns the addresses on which TCP sockets of these processes listen."""
    inodes = {inode for pid in pids for inode in _sockets(pid)}
    rows = [line.split() for name in ("tcp", "tcp6") for line in _lines(Path("/proc/self/net", name))]
    return {_address(row[1]) for row in rows if row[3] == _LISTEN and row[9] in inodes}


def family(pid: int) -> list[int]:
    """Returns a process and all that descend from it."""
    children = [int(child) for task in _entries(Path(f"/proc/{pid}/task")) for child in _words(task / "children")]
    return [pid, *(each for child in children for each in family(child))]


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines()[1:]


def _entries(folder: Path) -> list[Path]:
    try:
        return [*folder.iterdir()]
    except OSError:  # the process has ended
        return []


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:  # the task has ended
        return []


def _sockets(pid: int) -> set[str]:
    """The inodes of the sockets that a process has open."""
    inodes = set()
    for descriptor in _entries(Path(f"/proc/{pid}/fd")):
        try:
            target = str(descriptor.readlink())
        except OSError:  # closed meanwhile
            continue
        if target.startswith("socket:["):
            inodes.add(target.removeprefix("socket:[").removesuffix("]"))
    return inodes


def _address(text: str) -> Address:
    """An address as the kernel prints it: words of 32 bits in hexadecimal, each in the byte order of the machine."""
    words, port = text.split(":")
    packed = b"".join(struct.pack("=I", int(words[at : at + 8], 16)) for at in range(0, len(words), 8))
    host = socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)
    return Address(host.removeprefix("::ffff:"), int(port, 16))
