"""CI installs what tests look for, quietly, and goes on without it if it cannot."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from dev.environment import ROOT

SCRIPT: Final = ROOT / ".ci" / "components"
PROGRAMS: Final = {
    "chromium": "chromium",
    "cc": "gcc",
    "logrotate": "logrotate",
    "nginx": "nginx-light",
    "psql": "postgresql-client",
    "ps": "procps",
    "promtool": "prometheus",
    "amtool": "prometheus-alertmanager",
}
"""The package of each program that a test looks for."""
APT: Final = """#!/bin/sh
echo "$@" >> {calls}
[ -x {policy} ] && echo "services stay stopped" >> {calls}
echo "much output"
exit {code}
"""


class Machine:
    """A Debian with some programs, on which apt-get only records its calls."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.calls, self.policy = folder / "bin", folder / "calls", folder / "policy-rc.d"
        self.folder.mkdir()
        self.calls.touch()
        for name in ("bash", "cat", "chmod", "mktemp", "rm", "sh", "tail", "timeout"):
            (self.folder / name).symlink_to(shutil.which(name) or name)
        self.program("id", "#!/bin/sh\necho 0\n")
        self.program("apt-get", APT.format(calls=self.calls, policy=self.policy, code=0))

    def program(self, name: str, text: str = "#!/bin/sh\n") -> None:
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def run(self, **variables: str) -> str:
        environment = {"PATH": str(self.folder), "POLICY_RC_D": str(self.policy), "CI": "true", **variables}
        done = subprocess.run(
            [self.folder / "bash", SCRIPT], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert not self.policy.exists()
        return done.stdout


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_that_is_missing_is_installed(machine: Machine, program: str) -> None:
    for name in PROGRAMS.keys() - {program}:
        machine.program(name)
    package = PROGRAMS[program]
    assert machine.run().startswith(f"installed {package}")
    update, install = [line for line in machine.calls.read_text().splitlines() if line.startswith("-qq")]
    assert update.endswith(" update")
    assert package in install.partition("--no-install-recommends ")[2].split()
    assert machine.calls.read_text().count("services stay stopped") == 2


def test_nothing_is_installed_where_nothing_is_missing(machine: Machine) -> None:
    for name in PROGRAMS:
        machine.program(name)
    assert machine.run() == ""
    assert machine.calls.read_text() == ""


@pytest.mark.parametrize("person", ["no CI", "no root", "no apt-get"])
def test_a_persons_machine_is_left_alone(machine: Machine, person: str) -> None:
    if person == "no root":
        machine.program("id", "#!/bin/sh\necho 1000\n")
    if person == "no apt-get":
        (machine.folder / "apt-get").unlink()
    assert machine.run(CI="" if person == "no CI" else "true") == ""
    assert machine.calls.read_text() == ""


def test_without_a_network_the_run_goes_on(machine: Machine) -> None:
    machine.program("apt-get", APT.format(calls=machine.calls, policy=machine.policy, code=100))
    assert "not installed: chromium" in machine.run()


def test_another_browser_is_enough(machine: Machine) -> None:
    machine.program("google-chrome")
    assert "chromium" not in machine.run()


def test_the_run_starts_with_the_components() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert lines.index(".ci/components") < lines.index("make setup")
    assert os.access(SCRIPT, os.X_OK)
