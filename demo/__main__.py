"""`make demo`: a broker, a simulated site, the service and two views; then checks the tables."""

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from demo.broker import Broker
from demo.check import as_table, check
from demo.children import Child, child, free_port
from demo.options import command
from tidemark.command_line.keys import QUITS, Keys
from tidemark.command_line.main import run as run_command
from tidemark.command_line.terminal import Console, Live, RenderableType, styled
from tidemark.pipeline.errors import SetUpError, TidemarkError
from tidemark.pipeline.instants import now_ms
from tidemark.pipeline.reading.service_status import read_status
from tidemark.pipeline.reading.status_view import Status, render, render_screen
from tidemark.pipeline.verifier.invariants import verify
from tidemark.pipeline.verifier.verification_report import show
from tidemark.producers.truth import Truth

TOPIC: Final = "events"
PARTITIONS: Final = 4
# Short windows, so that many of them fire, refire and close within a minute.
SERVICE: Final = (
    *("--window.size", "10s"),
    *("--time.bound", "3s"),
    *("--time.allowed-lateness", "5s"),
    *("--time.idle-timeout", "10s"),
    *("--site.zone", "UTC"),
)
SITE: Final = (
    *("--rate", "2000"),
    *("--users", "5000"),
    *("--jitter", "6s"),
    *("--late-share", "0.01"),
    *("--late-by", "5m"),
    *("--late-after", "20s"),
    *("--future-share", "0.002"),
    *("--malformed-share", "0.005"),
    *("--truth-window", "10s"),
)
_PYTHON: Final = (sys.executable, "-m")
_CAUGHT_UP_S: Final = 600
_console = Console()


def main(arguments: Sequence[str] = ()) -> int:
    """Runs the demo; returns 0 only if the tables match the truth file and every invariant holds.

    `arguments` are `--keep` and options of `producers simulate`, such as `--rate 5000`; with a wrong option it returns
    2. In a terminal the dashboard stays until `q` or Ctrl-C.
    """
    return run_command(command(_run, arguments), arguments)


def _run(keep: Path | None, of_producer: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="tidemark-demo-") as folder:
        try:
            return _demo(Path(folder), keep or Path(folder) / "warehouse", of_producer)
        except TidemarkError as error:
            for line in f"demo: {error}".splitlines():
                _console.print(styled(line, "bold red"))
            return 2 if isinstance(error, SetUpError) else 1


def _demo(folder: Path, warehouse: Path, of_producer: Sequence[str]) -> int:
    page, port = free_port(), free_port()
    _console.print(f"Dashboard   http://127.0.0.1:{page}/ (the tables as a web page)")
    dashboard = ("dashboard", "--warehouse", str(warehouse), "--dashboard.port", str(page), "--metrics.port", str(port))
    with child("dashboard", (*_PYTHON, "tidemark.pipeline.cli", *dashboard), folder):
        truth = _produce_and_count(folder, warehouse, port, of_producer)
        lines, verification = check(truth, str(warehouse)), verify(str(warehouse))
        _console.print(render(read_status(str(warehouse)), now_ms()), as_table(lines))
        show(verification, _console)
        _await_end(page)
    return 0 if verification.is_sound and all(line.is_equal for line in lines) else 1


def _produce_and_count(folder: Path, warehouse: Path, port: int, of_producer: Sequence[str]) -> Truth:
    """Runs broker, service and producer, and ends them once all is counted; returns what was sent."""
    truth, seconds = folder / "truth.json", float(os.environ.get("DEMO_SECONDS", "60"))
    with Broker(folder / "kafka") as broker:
        broker.create_topic(TOPIC, PARTITIONS)
        _print_addresses(broker.bootstrap_servers, warehouse, port)
        where = ("--bootstrap-servers", broker.bootstrap_servers, "--topic", TOPIC)
        own = ("--warehouse", str(warehouse), "--metrics.port", str(port), *SERVICE)
        run = (*_PYTHON, "tidemark.pipeline.cli", "run", *where, *own)
        simulate = (*_PYTHON, "producers", "simulate", *where, "--truth", str(truth), *SITE, *of_producer)
        with child("service", run, folder) as service, child("producer", simulate, folder) as site:
            _watch(warehouse, seconds, service, site)
            site.end()
            _await_all_read(warehouse, sum(Truth.load(truth).partitions.values()), service)
            service.end()
    return Truth.load(truth)


def _await_end(page: int) -> None:
    """In a terminal, keeps the dashboard until a person ends the demo."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    _console.print(f"The dashboard stays at http://127.0.0.1:{page}/ until q or Ctrl-C.")
    with suppress(KeyboardInterrupt), Keys() as keys:
        while keys.pressed(1) not in QUITS:
            pass


def _print_addresses(servers: str, warehouse: Path, port: int) -> None:
    _console.print(
        f"Kafka       {servers}, topic {TOPIC}, {PARTITIONS} partitions",
        f"Warehouse   {warehouse} (Delta tables page_views, site_*, dead_letters, ledger)",
        f"Prometheus  http://127.0.0.1:{port}/metrics, /healthz, /readyz",
        "Spark takes some seconds to start; q or Ctrl-C ends the stream with its final check.",
        "",
        sep="\n",
    )


def _watch(warehouse: Path, seconds: float, service: Child, site: Child) -> None:
    """Displays the tables, for `seconds` from the first batch on or until `q` or Ctrl-C."""
    ends = None
    try:
        with Keys() as keys, Live(console=_console, auto_refresh=False) as live:
            while ends is None or time.monotonic() < ends:
                status = read_status(str(warehouse))
                if ends is None and status.summary and status.summary.batch_in_epoch:
                    ends = time.monotonic() + seconds
                live.update(_picture(status), refresh=True)
                service.check()
                site.check(may_finish=True)
                if keys.pressed(0.5) in QUITS:
                    break
    except KeyboardInterrupt:
        pass
    _console.print("stopping ...")


def _picture(status: Status) -> RenderableType:
    return render_screen(status, now_ms(), styled("q ends the stream", "dim"))


def _await_all_read(warehouse: Path, sent: int, service: Child) -> None:
    """Waits until the ledger accounts for the `sent` records of the producer."""
    ends = time.monotonic() + _CAUGHT_UP_S
    while (read := _read(warehouse)) < sent:
        service.check()
        if time.monotonic() > ends:
            raise TidemarkError(f"the service read {read} of {sent} records in {_CAUGHT_UP_S} s; see {service.log}")
        time.sleep(0.5)


def _read(warehouse: Path) -> int:
    summary = read_status(str(warehouse)).summary
    return summary.account.records if summary else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
