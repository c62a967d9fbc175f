"""A broker does not outlive a demo that is killed."""

import signal
import subprocess
import sys

import pytest

# It starts a process that dies with it, which says that it runs, and waits longer than any test.
PARENT = """
import subprocess
from demo.die_with_parent import dying_with_parent
subprocess.Popen(dying_with_parent(["/bin/sh", "-c", "echo up; exec sleep 600"])).wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_child_dies_when_its_parent_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, start_new_session=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"up\n"
        parent.send_signal(signal.SIGKILL)
        # Both hold the pipe's other end, so its end is the end of both.
        assert parent.stdout.read() == b""
