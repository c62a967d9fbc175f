"""docker-compose.yml: what a person relies on who starts it."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.files import COMPOSE, PROMETHEUS, ROOT, SERVICE, compose, services
from tests.security.page import ports
from tests.support.yaml_text import parsed

PINNED = re.compile(r"[\w./-]+:v?\d+\.\d+\.\d+")
# Images that run as their own user by default; our Dockerfile sets the user.
NOT_ROOT = ("apache/kafka:", "grafana/grafana:", "prom/alertmanager:", "prom/prometheus:", "tidemark:")
MONITORING = {"prometheus", "alertmanager", "grafana"}
ONCE = "service_completed_successfully"


def each_service() -> list[Any]:
    return [pytest.param(service, id=name) for name, service in services().items()]


@pytest.mark.slow
def test_the_file_is_valid_by_the_compose_specification() -> None:
    tool = Path(sys.executable).with_name("check-jsonschema")
    checked = subprocess.run(
        [tool, "--builtin-schema", "vendor.compose-spec", str(COMPOSE)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("service", each_service())
def test_every_image_is_pinned_to_a_version_and_runs_without_root(service: dict[str, Any]) -> None:
    assert PINNED.fullmatch(service["image"])
    assert service["image"].startswith(NOT_ROOT)
    assert service.get("user") not in {"root", "0", 0}
    assert not service.get("privileged")


def test_every_image_of_others_can_be_pinned_to_a_digest_in_one_place() -> None:
    images = re.findall(r"^ +image: (.+)$", COMPOSE.read_text(), re.MULTILINE)
    theirs = [image for image in images if image not in {SERVICE, "*kafka"}]
    names = re.findall(r"\b([A-Z]+_IMAGE):-", " ".join(theirs))
    assert len(theirs) == len(names) == len(set(names))


def test_published_ports_are_those_of_the_page_on_security() -> None:
    published = {(name, port) for name, service in services().items() for port in service.get("ports", [])}
    rows = [row for row in ports() if row.published != "no"]
    assert published == {(row.service, f"{row.published}:{row.port}:{row.port}") for row in rows}
    assert {row.service for row in ports()} == {*services()} - {"topic"}
    assert {service.get("network_mode") for service in services().values()} == {None}


def test_a_service_that_others_wait_for_has_a_health_check_or_ends() -> None:
    for name, service in services().items():
        for other, wanted in service.get("depends_on", {}).items():
            condition = wanted["condition"]
            if condition == "service_healthy":
                assert services()[other]["healthcheck"]["test"], f"{name} waits for {other}, which has no health check"
            if condition == ONCE:
                assert services()[other]["restart"] == "on-failure", f"{other} must end for {name} to begin"


def test_nothing_reads_or_writes_the_topic_before_it_is_there() -> None:
    for name in ("tidemark", "producer", "collect"):
        assert services()[name]["depends_on"]["topic"]["condition"] == ONCE
    assert services()["topic"]["depends_on"]["kafka"]["condition"] == "service_started"


def test_persistent_data_is_in_named_volumes() -> None:
    declared = set(compose()["volumes"])
    assert {name for name, _ in named_volumes()} == declared
    assert {service for _, service in named_volumes()} == {"kafka", "tidemark", "dashboard", "sql", *MONITORING}


def test_services_that_only_read_mount_the_warehouse_read_only() -> None:
    for name, verb in (("sql", "sql-server"), ("dashboard", "dashboard")):
        assert services()[name]["command"][:2] == ["hold", verb]
        assert services()[name]["volumes"] == ["warehouse:/var/lib/tidemark:ro"]
    assert services()["tidemark"]["volumes"] == ["warehouse:/var/lib/tidemark"]


def test_files_that_are_mounted_exist_and_are_read_only() -> None:
    mounts = [volume for service in services().values() for volume in service.get("volumes", []) if volume[0] == "."]
    assert mounts
    for mount in mounts:
        source, _, mode = mount.split(":")
        assert (ROOT / source).exists()
        assert mode == "ro"


def test_our_image_is_built_once_from_the_dockerfile_that_is_there() -> None:
    ours = [service for service in services().values() if service["image"] == SERVICE]
    taken = [service for service in ours if "build" not in service]
    (build,) = [service["build"] for service in ours if "build" in service and "pull_policy" not in service]
    assert (ROOT / build["context"] / build["dockerfile"]).is_file()
    assert taken
    assert {service["pull_policy"] for service in taken} == {"never"}


def test_our_services_write_only_to_their_volumes_and_have_no_capabilities() -> None:
    for service in (service for service in services().values() if service["image"] == SERVICE):
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in service["security_opt"]


@pytest.mark.parametrize("service", each_service())
def test_every_service_has_a_limit_of_memory(service: dict[str, Any]) -> None:
    assert re.fullmatch(r"\d+[mg]", service["mem_limit"])


def test_codecs_can_load_their_libraries_and_tmp_leaves_memory_for_the_process() -> None:
    for service in (service for service in services().values() if service["image"] == SERVICE):
        (mount,) = service["tmpfs"]
        options = re.fullmatch(r"/tmp:exec,size=(\d+[mg])", mount)  # noqa: S108 - of the container
        assert options, "Docker mounts a tmpfs as noexec, and of unlimited size"
        assert in_bytes(options[1]) <= in_bytes(service["mem_limit"]) / 4


def in_bytes(size: str) -> int:
    """Returns the bytes of a size such as 512m."""
    return int(size[:-1]) << {"m": 20, "g": 30}[size[-1]]


@pytest.mark.parametrize("service", each_service())
def test_a_service_is_back_after_a_reboot_and_its_log_has_an_end(service: dict[str, Any]) -> None:
    # `on-failure` does not start a container again after a reboot. Source: Docker, "Start containers automatically".
    once = "--create" in service.get("command", [])
    assert service["restart"] == ("on-failure" if once else "unless-stopped")
    assert service["logging"] == {"driver": "json-file", "options": {"max-size": "10m", "max-file": "3"}}


def test_a_configuration_error_of_ours_is_not_restarted_for_ever() -> None:
    for service in (service for service in services().values() if service["image"] == SERVICE):
        assert service["command"][0] == "hold"


def test_the_topic_does_not_fill_the_disk() -> None:
    config = dict(word.split("=")[1:] for word in services()["topic"]["command"] if word.startswith("--config="))
    assert {name: int(value) for name, value in config.items()} == {
        "retention.ms": 24 * 60 * 60 * 1000,
        "retention.bytes": 1 << 30,
        "segment.bytes": 1 << 27,
    }


def test_monitoring_queries_and_the_collector_are_profiles_and_the_rest_is_always_there() -> None:
    profiles = {name: service.get("profiles") for name, service in services().items()}
    assert {name for name, chosen in profiles.items() if chosen == ["monitoring"]} == MONITORING
    assert {name for name, chosen in profiles.items() if chosen == ["query"]} == {"sql"}
    assert {name for name, chosen in profiles.items() if chosen == ["collect"]} == {"collect"}
    always = {name for name, chosen in profiles.items() if chosen is None}
    assert always == {"kafka", "topic", "tidemark", "dashboard", "producer"}
    needed = {name for service in services().values() for name in service.get("depends_on", {})}
    assert not needed & {*MONITORING, "sql", "collect"}, "what is always there must not wait for what may not be"


def test_no_health_check_starts_a_jvm() -> None:
    for service in services().values():
        assert "kafka" not in str(service.get("healthcheck", {}).get("test", ""))


def test_prometheus_and_the_dashboard_ask_the_port_that_the_service_listens_on() -> None:
    port = services()["tidemark"]["environment"]["TIDEMARK_METRICS__PORT"]
    asked = services()["dashboard"]["environment"]
    assert (asked["TIDEMARK_METRICS__HOST"], asked["TIDEMARK_METRICS__PORT"]) == ("tidemark", port)
    assert f"tidemark:{port}" in PROMETHEUS.read_text()
    assert services()["tidemark"]["environment"]["TIDEMARK_METRICS__HOST"] == "0.0.0.0"  # noqa: S104 - in its container


def test_prometheus_asks_other_processes_at_the_ports_that_they_listen_on() -> None:
    assert targets() == {
        "tidemark-collect": "collect:8480",
        "tidemark-page": "dashboard:9478",
        "tidemark-sql": "sql:9479",
    }
    listed = {(row.service, row.port) for row in ports()}
    assert {tuple(target.split(":")) for target in targets().values()} <= listed
    command = " ".join(services()["sql"]["command"])
    assert "--metrics-host 0.0.0.0 --metrics-port 9479" in command


def test_prometheus_looks_up_services_of_a_profile_only() -> None:
    by_name = {config["names"][0] for job in jobs() for config in job.get("dns_sd_configs", [])}
    assert by_name == {name for name in services() if services()[name].get("profiles")} - MONITORING


def jobs() -> list[dict[str, Any]]:
    """The jobs of Prometheus."""
    found: list[dict[str, Any]] = parsed(PROMETHEUS.read_text())["scrape_configs"]
    return found


def targets() -> dict[str, str]:
    """The target of each job for a process of ours other than the service, as `service:port`."""
    found = {}
    for job in jobs():
        names = [f"{config['names'][0]}:{config['port']}" for config in job.get("dns_sd_configs", [])]
        (target,) = names or job["static_configs"][0]["targets"]
        found[job["job_name"]] = target
    return {name: target for name, target in found.items() if name not in {"tidemark", "prometheus"}}


def test_promtool_takes_the_configuration_of_prometheus(tmp_path: Path) -> None:
    tool = shutil.which("promtool")
    if not tool:
        pytest.skip("promtool is not installed")
    checked = subprocess.run(
        [tool, "check", "config", str(PROMETHEUS)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def named_volumes() -> Iterator[tuple[str, str]]:
    """(volume, service) of what is not a folder of the repository."""
    for name, service in services().items():
        for volume in service.get("volumes", []):
            if volume[0] not in "./":
                yield volume.split(":")[0], name
