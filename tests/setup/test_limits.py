"""The service takes no more of a machine than its container may have."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.runtime import limits
from tidemark.pipeline.runtime.spark import _deployment
from tidemark.pipeline.settings.model import SparkSettings

GIB = 1024**3
MACHINE = len(os.sched_getaffinity(0))
HERE = Path(__file__).parents[2]
ASK = "from tidemark.pipeline.runtime import limits; print(limits.cores(), limits.memory())"


def tree(root: Path, groups: str, **files: str) -> Path:
    """A root directory with the control groups of this process, and what their files say."""
    contents = {"proc/self/cgroup": groups, **{f"sys/fs/cgroup/{name}": text for name, text in files.items()}}
    for name, text in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{text}\n")
    return root


def test_a_quota_of_the_second_generation_counts_rounded_up(tmp_path: Path) -> None:
    for quota, wanted in (("50000 100000", 1), ("max 100000", MACHINE), ("9900000 100000", min(MACHINE, 99))):
        assert limits.cores(tree(tmp_path, "0::/", **{"cpu.max": quota})) == wanted


def test_the_smallest_limit_on_the_way_up_counts(tmp_path: Path) -> None:
    memory = {"memory.max": str(2 * GIB), "a/memory.max": str(GIB), "a/b/memory.max": "max"}
    cpu = {"cpu.max": "100000 100000", "a/b/cpu.max": "max 100000"}
    root = tree(tmp_path, "0::/a/b", **memory, **cpu)
    assert (limits.cores(root), limits.memory(root)) == (1, GIB)


def test_limits_of_the_first_generation_count(tmp_path: Path) -> None:
    files = {
        "cpu,cpuacct/docker/x/cpu.cfs_quota_us": "100000",
        "cpu,cpuacct/docker/x/cpu.cfs_period_us": "100000",
        "memory/memory.limit_in_bytes": str(GIB),
    }
    # In a container the path may be the host's, which does not exist; the root is the container's own.
    root = tree(tmp_path, "5:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n3:cpuset:/", **files)
    assert (limits.cores(root), limits.memory(root)) == (1, GIB)


def test_without_a_limit_there_is_no_value(tmp_path: Path) -> None:
    unlimited = {"memory/memory.limit_in_bytes": "9223372036854771712", "cpu/cpu.cfs_quota_us": "-1"}
    for root in (tree(tmp_path / "first", "5:cpu:/\n4:memory:/", **unlimited), tmp_path / "another-system"):
        assert (limits.cores(root), limits.memory(root)) == (MACHINE, None)


def test_the_heap_is_half_of_the_container(tmp_path: Path) -> None:
    assert limits.heap(tree(tmp_path, "0::/", **{"memory.max": str(3 * GIB)})) == "1536m"


def test_a_container_that_is_too_small_is_reported_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SetUpError, match=r"there are 600 MiB .* give the container 1024 MiB at least"):
        limits.heap(tree(tmp_path, "0::/", **{"memory.max": str(600 * limits.MIB)}))


def test_spark_is_given_what_the_container_has_unless_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "cores", lambda: 3)
    monkeypatch.setattr(limits, "memory", lambda _: 3 * GIB)
    monkeypatch.setattr("tidemark.pipeline.runtime.spark.connector_jar", lambda: Path("tidemark-connector.jar"))
    properties = _deployment(SparkSettings(), "console", [])
    assert (properties["spark.master"], properties["spark.sql.shuffle.partitions"]) == ("local[6]", "3")
    assert properties["spark.driver.memory"] == "1536m"
    assert "spark.driver.memory" not in _deployment(SparkSettings(conf={"spark.driver.memory": "5g"}), "console", [])


@pytest.mark.skipif(MACHINE < 2, reason="the machine has one core")
def test_the_affinity_of_the_process_counts() -> None:
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); " + ASK
    assert output_of(code).split() == ["1", "None"]


def test_the_limits_of_a_real_control_group_count() -> None:
    with own_group(cpu_us=50_000, memory=2 * GIB) as join:
        assert output_of(f"{join}; {ASK}").split() == ["1", str(2 * GIB)]


def output_of(code: str) -> str:
    """Runs a Python of its own and returns what it prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=HERE).stdout


@contextmanager
def own_group(cpu_us: int, memory: int) -> Iterator[str]:
    """A control group below this process's own; gives the statement with which a process joins it."""
    made = list[Path]()
    second = {"cpu.max": f"{cpu_us} 100000", "memory.max": str(memory)}
    first = {"cpu": {"cpu.cfs_quota_us": str(cpu_us)}, "memory": {"memory.limit_in_bytes": str(memory)}}
    try:
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            wanted = [text for name, text in first.items() if name in controllers.split(",")]
            if wanted or (not controllers and Path("/sys/fs/cgroup/cgroup.controllers").exists()):
                group = Path("/sys/fs/cgroup", controllers, path.lstrip("/"), f"tidemark-test-{os.getpid()}")
                group.mkdir()
                made.append(group)
                for name, text in (wanted[0] if wanted else second).items():
                    (group / name).write_text(text)
        if not made:
            pytest.skip("there are no control groups here")
        yield "import pathlib; " + "; ".join(f"pathlib.Path('{group}/cgroup.procs').write_text('0')" for group in made)
    except OSError as error:
        pytest.skip(f"no control group may be made here: {error}")
    finally:
        for group in made:
            group.rmdir()


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's allocator")
def test_large_pieces_of_memory_are_given_back_when_they_are_freed() -> None:
    def retained_mib(first: str) -> int:
        """MiB that a process has of 200 that it freed, between small pieces that it still has."""
        script = (
            f"from tidemark.pipeline.runtime import limits; {first}\n"
            "def resident(): return int(open('/proc/self/statm').read().split()[1]) * 4096 // 2**20\n"
            "bytearray(16 * 2**20)\n"
            "before = resident()\n"
            "both = [(bytearray(b'x') * 2**20, bytearray(b'x') * 2**10) for _ in range(200)]\n"
            "small = [some for _, some in both]\n"
            "del both\n"
            "print(resident() - before)"
        )
        return int(subprocess.run([sys.executable, "-c", script], cwd=HERE, check=True, capture_output=True).stdout)

    if retained_mib("None") < 100:
        pytest.skip("this allocator gives it back by itself")
    assert retained_mib("limits.return_freed_memory()") < 20
