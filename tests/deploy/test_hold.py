"""A container with a configuration error is not restarted for ever, and one that can recover is."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.docker import hold as module
from deploy.docker.hold import hold
from tests.support.processes import Process
from tests.support.waiting import PATIENCE_S, wait_for


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Gives the signals back to pytest."""
    saved = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in saved.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("code", [0, 1, 137])
def test_another_exit_code_is_left_to_docker(code: int) -> None:
    assert hold(["sh", "-c", f"exit {code}"]) == code


def test_a_killed_command_ends_the_container_as_a_shell_would() -> None:
    assert hold(["sh", "-c", "kill -9 $$"]) == 137


def test_a_dependency_that_is_slow_to_start_is_waited_for(tmp_path: Path) -> None:
    script = f"test -e {tmp_path}/started || {{ touch {tmp_path}/started; exit 2; }}"
    assert hold(["sh", "-c", script], pause_s=0) == 0


def test_a_configuration_error_is_held_until_the_container_is_stopped(tmp_path: Path) -> None:
    program = "from deploy.docker.hold import hold; raise SystemExit(hold(['sh', '-c', 'echo run; exit 2'], 3, 0))"
    with Process([sys.executable, "-c", program], tmp_path / "log") as held:
        wait_for(lambda: "3 attempts ended" in held.said, PATIENCE_S, "the last attempt")
        assert held.said.count("run\n") == 3
        assert held.alive
        held.send(signal.SIGTERM)
        assert held.wait() == 2


def test_sigterm_reaches_the_command(tmp_path: Path) -> None:
    command = "trap 'echo finished; exit 0' TERM; echo started; while :; do sleep 0.05; done"
    with Process([sys.executable, module.__file__, "sh", "-c", command], tmp_path / "log") as service:
        wait_for(lambda: "started" in service.said, PATIENCE_S, "the command")
        service.send(signal.SIGTERM)
        assert service.wait() == 0
        assert "finished" in service.said


def test_the_entry_runs_a_command_of_either_program_under_it(tmp_path: Path) -> None:
    program = tmp_path / "producers"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    entry = Path(module.__file__).with_name("entrypoint.py")
    said = subprocess.run(
        [sys.executable, entry, "hold", "producers", "simulate"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said.stdout == "simulate\n"
