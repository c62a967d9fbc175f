"""`python -m tests.crash.alert_hour`: an hour under the shipped monitoring, with eleven faults, each once.

Two services that have a warehouse at the same path, as on two hosts (each in a mount namespace of its own, which needs
root), a collector and a page. Prometheus and Alertmanager have the shipped rules, intervals and groups. The table says
which alert fired when, when its message was sent and when it ended. Exit code 1 if an expected alert did not fire, or
another one did that no fault explains.
"""

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from demo.broker import Broker
from demo.children import free_port
from tests.chaos.rules import Faults
from tests.crash.alert_faults import (
    LONG_TRANSACTIONS,
    Fault,
    Host,
    Restarted,
    of_data,
    of_processes,
    of_the_engine,
    of_the_second,
    visitors,
)
from tests.crash.alert_stage import PARTITIONS, at_work
from tests.support.monitoring import Monitoring, answers, monitoring
from tests.support.processes import producers, tidemark
from tests.support.summary import Summary
from tests.support.waiting import PATIENCE_S, wait_for

LOOK_S: Final = 5
PER_SECOND: Final = 50
"""Records of each partition."""
MINUTES: Final = 70
AGAIN: Final = "python -m tests.crash.alert_hour"


@dataclass
class Fired:
    """An alert, with the minutes at which it was first and last seen, and its message sent."""

    labels: dict[str, str]
    first: float
    last: float
    sent: float | None = None

    def is_one(self, name: str, port: int | None) -> bool:
        instance = self.labels.get("instance", "")
        return self.labels["alertname"] == name and (port is None or instance.endswith(f":{port}"))


@dataclass
class Hour:
    """The running parts, and what has fired so far."""

    watching: Monitoring
    began: float = field(default_factory=time.monotonic)
    fired: list[Fired] = field(default_factory=list)

    @property
    def minute(self) -> float:
        return (time.monotonic() - self.began) / 60

    def look(self) -> None:
        """Notes which alerts fire now, and which messages were sent since the last time."""
        now, seen = self.minute, self.watching.alerts()
        for labels in seen:
            # It fires again if it was silent for a minute.
            last = next((one for one in self.fired if one.labels == labels and now - one.last < 1), None)
            if last is None:
                self.fired.append(last := Fired(labels, now, now))
            last.last = now
        for one in self.fired:
            if one.sent is None and one.labels in self.watching.receiver.alerts:
                one.sent = now

    def play(self, faults: Sequence[Fault], minutes: float) -> None:
        """Does each fault in time, and mends it."""
        acts = sorted(
            [(one.begin, f"begins: {one.what}", one.do) for one in faults]
            + [(one.end, f"ends: {one.what}", one.mend) for one in faults],
            key=lambda act: act[0],
        )
        while self.minute < minutes:
            while acts and acts[0][0] <= self.minute:
                _, words, act = acts.pop(0)
                act()
                sys.stdout.write(f"{self.minute:5.1f} {words}\n")
                sys.stdout.flush()
            self.look()
            time.sleep(LOOK_S)


def main() -> int:
    """Plays the hour, and prints the table. Exit code 2 if it may not make mount namespaces."""
    if os.geteuid():
        sys.stderr.write("alert_hour: run it as root, which may give each service a host of its own\n")
        return 2
    with tempfile.TemporaryDirectory(prefix="tidemark-hour-") as folder, ExitStack() as stack:
        return _hour(Path(folder), stack)


def _hour(folder: Path, stack: ExitStack) -> int:
    broker = stack.enter_context(Broker(folder / "broker", heap="256m", further=LONG_TRANSACTIONS))
    (folder / "host").mkdir()
    first, second = (_host(folder, broker, name, stack) for name in ("first", "second"))
    collector, page = free_port(), free_port()
    broker.create_topic("pages", PARTITIONS)
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", "pages")
    origin = ("--allow-origin", "*", "--rate", "0", "--port", str(collector))
    collect = Restarted(lambda: producers(folder / "collect.log", "collect", *where, *origin))
    shown = ("--warehouse", str(folder / first.name / "warehouse"), "--metrics.port", str(first.port))
    display = Restarted(
        lambda: tidemark(folder / "page.log", "dashboard", *shown, "--dashboard.port", str(page), driver={})
    )
    for part in (first, second, collect, display):
        stack.callback(part.kill)
        part.start()
    wait_for(lambda: answers(collector, "/healthz") and answers(page, "/healthz"), PATIENCE_S, "collector and page")
    stack.enter_context(visitors(collector))
    watching = stack.enter_context(monitoring(folder / "watching", first.port, is_faster=False))
    watching.watch(first.port, second.port)
    watching.watch(collector, job="tidemark-collect")
    watching.watch(page, job="tidemark-page")
    faults = [
        *of_processes(first, collect, display, collector, page),
        *of_data(first, second),
        *of_the_engine(first, second, broker, collector),
        *of_the_second(second, watching, first.port),
    ]
    hour = Hour(watching)
    hour.play(faults, MINUTES)
    return _report(hour, faults, {first.port: "first", second.port: "second", collector: "collector", page: "page"})


def _host(folder: Path, broker: Broker, name: str, stack: ExitStack) -> Host:
    """Makes the host's folder and topic, and starts its site."""
    (folder / name).mkdir()
    site = stack.enter_context(at_work(broker, name, PER_SECOND))
    faults = Faults(folder / f"{name}-faults", folder / "host" / "warehouse")
    return Host(name, folder, broker, site, faults, free_port())


def _report(hour: Hour, faults: Sequence[Fault], names: dict[int, str]) -> int:
    """Prints which alert each fault caused, and what no fault explains."""
    summary, explained = Summary(len(faults)), list[Fired]()
    sys.stdout.write("\n| fault | from, to | alert | fired after | sent after | ended after the mend |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    for fault in faults:
        for name, port in fault.expected:
            found = next((one for one in hour.fired if one.is_one(name, port) and one.first >= fault.begin), None)
            about = f"{name} ({names[port]})" if port else name
            row = "**did not fire** | |"
            if found:
                explained.append(found)
                sent = f"{found.sent - fault.begin:.1f} min" if found.sent else "inhibited"
                ended = f"{found.last - fault.end:.1f} min" if found.last < hour.minute - 1 else "still fires"
                row = f"{found.first - fault.begin:.1f} min | {sent} | {ended}"
            else:
                summary.failures[f"{fault.what}: {about}"] = AGAIN
            sys.stdout.write(f"| {fault.what} | {fault.begin:g}, {fault.end:g} | {about} | {row} |\n")
    others = [one for one in hour.fired if one not in explained]
    for one in others:
        causes = [fault.what for fault in faults if _may_be_of(one, fault)]
        port = int(one.labels.get("instance", ":0").rpartition(":")[2])
        about = f"{one.labels['alertname']} ({names.get(port, 'none')})"
        sent = f"sent at {one.sent:.1f}" if one.sent else "inhibited"
        sys.stdout.write(f"other: {about} from {one.first:.1f} to {one.last:.1f}, {sent}: {causes or 'UNEXPLAINED'}\n")
        if not causes:
            summary.failures[f"{about} at minute {one.first:.1f}"] = AGAIN
    summary.write()
    return int(bool(summary.failures))


def _may_be_of(one: Fired, fault: Fault) -> bool:
    """Returns whether an alert is a consequence of a fault, also for half an hour after it, as rates remember it."""
    is_named = one.labels["alertname"].startswith(fault.consequences or ("-",))
    is_expected = any(one.is_one(name, port) for name, port in fault.expected)
    return (is_named or is_expected) and fault.begin <= one.first <= fault.end + 30


if __name__ == "__main__":
    sys.exit(main())
