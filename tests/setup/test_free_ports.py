"""Ports for programs that are started later: no two processes of a test run get the same one."""

import subprocess
import sys

from demo import children

_CHOOSE = "from demo import children; children._PORTS = {}; print(children.free_port())"


def test_another_process_gets_no_port_of_this_process() -> None:
    given = children.free_ports(20)
    assert len({*given, *children.free_ports(20)}) == 40
    command = _CHOOSE.format([*given, *range(32_000, 32_004)])
    chosen = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    assert int(chosen.stdout) not in given
