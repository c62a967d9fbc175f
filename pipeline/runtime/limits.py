"""What this process may use: the cores and the memory of its container, not those of the machine that it is on.

Both generations of cgroups are read, as the Java virtual machine reads them: a quota counts wherever in the hierarchy
it is set. Source: Linux, admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst; scheduler/sched-bwc.rst.
"""

import ctypes
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pipeline.errors import SetUpError

MIB: Final = 1024 * 1024
_ROOT: Final = Path("/")
_UNLIMITED_HEAP: Final = 4096 * MIB
"""On a machine that other programs share."""
_LEAST_HEAP: Final = 512 * MIB
"""Below it Spark refuses to start."""
_MMAP_THRESHOLD: Final = -3
"""`M_MMAP_THRESHOLD` in glibc's malloc.h."""
_GIVEN_BACK: Final = 256 * 1024


def cores(root: Path = _ROOT) -> int:
    """How many cores this process may use: by its affinity, and by the quota of its container, rounded up."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min([allowed, *(max(1, math.ceil(quota)) for quota in _quotas(root))])


def memory(root: Path = _ROOT) -> int | None:
    """The bytes that the container may have; None where it has no limit, or one beyond what the machine has."""
    groups = _groups(root, "memory")
    limits = (_read(folder / "memory.max") or _read(folder / "memory.limit_in_bytes") for folder in groups)
    # The first generation writes a huge one for none, the second `max`.
    limit = min((int(one) for one in limits if one.isdigit()), default=_physical())
    return limit if limit < _physical() else None


def heap(root: Path = _ROOT) -> str:
    """The heap of the driver's JVM, as Spark writes it: half of the container's memory, or 4 GiB of a larger machine.

    The other half is for what the JVM has beside its heap, and for Python with delta-rs. Raises SetUpError if that is
    less than Spark starts with.
    """
    limit = memory(root)
    size = min(_UNLIMITED_HEAP, _physical() // 2) if limit is None else limit // 2
    if size < _LEAST_HEAP:
        raise SetUpError(
            f"there are {size * 2 // MIB} MiB of memory, of which half would be the heap of Spark: give the container "
            f"{2 * _LEAST_HEAP // MIB} MiB at least"
        )
    return f"{size // MIB}m"


def give_back_freed() -> None:
    """Has C's allocator give large pieces of memory back as soon as they are freed: 256 KiB and more.

    By itself glibc keeps pieces as large as it has seen one freed, up to 32 MiB: of rows that came from Spark and are
    gone a process held hundreds of megabytes. Does nothing with another C library. Source: mallopt(3).
    """
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(_MMAP_THRESHOLD, _GIVEN_BACK)


def _physical() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _quotas(root: Path) -> Iterator[float]:
    """Every limit on cores that holds here."""
    for folder in _groups(root, "cpu"):
        quota, _, period = _read(folder / "cpu.max").partition(" ")
        quota = quota or _read(folder / "cpu.cfs_quota_us")
        period = period or _read(folder / "cpu.cfs_period_us")
        if quota.isdigit() and period.isdigit():  # neither `max` nor -1
            yield int(quota) / int(period)


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """The folders of the control groups of this process, up to the top.

    In a container of the first generation the path is often the host's, and only its top is there.
    """
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers or controller in controllers.split(","):
            top = root / "sys/fs/cgroup" / controllers
            own = top / path.lstrip("/")
            yield from [own, *own.parents[: len(own.relative_to(top).parts)]]


def _read(file: Path) -> str:
    """What a file says; nothing if it is not there, as on other systems than Linux."""
    try:
        return file.read_text().strip()
    except OSError:
        return ""
