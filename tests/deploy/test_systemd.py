"""The unit for hosts: valid for systemd, and its command one that the command line takes."""

import re
import shutil
import subprocess
import sys
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.files import DEPLOYING, ROOT, commands_of, section_of, services
from tests.support.parsed_settings import parsed_settings
from tidemark.pipeline.tables.opening import VERSION

FOLDER = ROOT / "deploy" / "systemd"
UNIT = FOLDER / "tidemark.service"
PROGRAM = "/opt/tidemark/venv/bin/tidemark"
COMMANDS = commands_of(section_of(DEPLOYING, "On a host with systemd"))
"""The commands that install it."""
START_S = 5
"""About how long a start takes to find a configuration error, in seconds."""


def unit() -> RawConfigParser:
    """Returns the unit; of a key that is repeated, the last value."""
    parser = RawConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(UNIT)
    return parser


@pytest.mark.slow
def test_systemd_finds_no_fault_in_it(tmp_path: Path) -> None:
    tool = shutil.which("systemd-analyze")
    if not tool:
        pytest.skip("systemd-analyze is not on PATH; it is part of systemd")
    # systemd also looks whether the program exists.
    installed = Path(sys.executable).with_name("tidemark")
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace(PROGRAM, str(installed)))
    found = subprocess.run([tool, "verify", copy], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")


def test_its_command_is_the_service_with_a_file_of_settings() -> None:
    program, verb, option, file = unit()["Service"]["ExecStart"].split()
    assert (program, verb, option) == (PROGRAM, "run", "--config")
    installed = {words[-1]: words[-2] for words in COMMANDS if words[0] == "install"}
    assert (ROOT / installed[f"/etc/systemd/system/{UNIT.name}"]).samefile(UNIT)
    settings = parsed_settings("--config", str(ROOT / installed[file]))
    assert settings.warehouse.startswith("/var/lib/tidemark/")


def test_the_unit_of_a_timer_is_the_service_that_ends_at_the_end_of_the_topic() -> None:
    blocks = re.findall(r"```ini\n(.*?)```", section_of(DEPLOYING, "On a timer"), re.DOTALL)
    hourly = RawConfigParser(strict=False, interpolation=None)
    hourly.optionxform = str  # type: ignore[assignment,method-assign]
    hourly.read_string("".join(blocks))
    assert hourly.sections() == ["Service", "Timer", "Install"]
    service, own = unit()["Service"], dict(hourly["Service"])
    assert own.pop("Type") == "oneshot"
    assert own.pop("ExecStart") == f"{service['ExecStart']} --until-caught-up"
    assert own.items() <= service.items()


def test_what_is_installed_is_the_wheel_with_all_extras() -> None:
    (installed,) = [words[-1] for words in COMMANDS if words[0].endswith("/pip")]
    assert installed == f"./dist/tidemark_lake-{VERSION}-py3-none-any.whl[all]"


def test_a_configuration_error_is_not_restarted_for_ever_and_a_later_failure_is() -> None:
    head, service = unit()["Unit"], unit()["Service"]
    interval_s, burst = int(head["StartLimitIntervalSec"].removesuffix("min")) * 60, int(head["StartLimitBurst"])
    pause_s = int(service["RestartSec"])
    assert service["Restart"] == "on-failure"
    assert burst * (START_S + pause_s) < interval_s <= burst * (60 + pause_s)
    # A broker that is unavailable after a reboot has an hour.
    assert burst * pause_s >= 3600


def test_it_stops_as_compose_does() -> None:
    service: Any = unit()["Service"]
    assert service["KillMode"] == "mixed", "SIGTERM would end Spark's Java in the middle of a batch"
    assert f"{service['TimeoutStopSec']}s" == services()["tidemark"]["stop_grace_period"]


def test_it_has_no_rights_and_writes_to_its_state_only() -> None:
    service = unit()["Service"]
    assert service["User"] == service["Group"] == service["StateDirectory"] == "tidemark"
    assert (service["ProtectSystem"], service["NoNewPrivileges"]) == ("strict", "yes")
    assert service["CapabilityBoundingSet"] == ""
