"""A broker does not outlive a demo that is killed."""

import signal
import subprocess
import sys

import pytest

# It starts a tethered process, which says that it runs, and waits longer than any test.
PARENT = """
import subprocess
from demo.tether import tethered
subprocess.Popen(tethered(["/bin/sh", "-c", "echo up; exec sleep 600"])).wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_what_is_tethered_dies_when_its_parent_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, start_new_session=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"up\n"
        parent.send_signal(signal.SIGKILL)
        # Both hold the pipe's other end, so its end is the end of both.
        assert parent.stdout.read() == b""
