"""A real Kafka broker without Docker, as one process of the locked jars. The demo and the tests use it.

`python -m demo.broker --port 9092 --data-dir DIR` runs it until Ctrl-C or SIGTERM.
"""

import argparse
import atexit
import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from demo.broker_properties import write_properties
from demo.children import free_ports
from demo.die_with_parent import dying_with_parent
from demo.topics import admin, answers, create_topic
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.runtime.jars import jars_of
from tidemark.pipeline.runtime.java import find_java

HOST = "127.0.0.1"
READY_S = 300.0
"""Only a broker that hangs reaches it; one that has ended is noticed at once."""
STOP_S = 120.0
QUOTED_LINES = 6


class Broker:
    """A single-node KRaft broker on 127.0.0.1 with persistent data; as a context manager it starts and stops.

    `heap` is the limit of the JVM's heap. stop(), kill() and restart() keep the port. Methods that start the broker
    raise SetUpError if Java or the jars are missing, the port is in use, or the broker does not answer in time.
    """

    def __init__(
        self,
        data_dir: Path,
        port: int | None = None,
        heap: str = "768m",
        further: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        """Chooses ports, but starts nothing yet.

        `further` are properties that override the broker's defaults, `options` are options of its JVM.
        """
        self.data_dir = data_dir.absolute()
        self.heap = heap
        self.further = further or {}
        self.options = options
        free, self._controller_port = free_ports(2)
        self.port = port or free
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        """The address for clients, `host:port`."""
        return f"{HOST}:{self.port}"

    @property
    def log(self) -> Path:
        """The file with the output of the broker."""
        return self.data_dir / "broker.log"

    @property
    def running(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> Self:
        """Starts the broker with the data in `data_dir`, and waits until it answers."""
        _check_free(self.port)
        properties = self._prepare()
        # Runs at every end of this process except SIGKILL.
        atexit.register(self.stop)
        options = [f"-Xmx{self.heap}", "-XX:+ExitOnOutOfMemoryError", *self.options]
        self._process = self._spawn(options, "kafka.Kafka", properties)
        try:
            self._await_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def stop(self) -> None:
        """Stops the broker by SIGTERM, or by SIGKILL after `STOP_S`."""
        if self._process and self.running:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_S)
        self.kill()

    def kill(self) -> None:
        """Stops the broker by SIGKILL, as a crash would."""
        if self._process:
            self._process.kill()
            self._process.wait()
        atexit.unregister(self.stop)

    def restart(self) -> None:
        """Stops the broker if it runs, and starts it with the same data and port."""
        self.stop()
        self.start()

    def wait(self) -> int:
        """Waits until the process ends, and returns its exit code."""
        return self._process.wait() if self._process else 0

    def create_topic(self, name: str, partitions: int = 1, **config: object) -> None:
        """Creates a topic and waits for its leaders; `retention_ms=-1` sets `retention.ms`."""
        create_topic(self.bootstrap_servers, name, partitions, **config)

    def __enter__(self) -> Self:
        """Starts the broker."""
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops the broker."""
        self.stop()

    def _prepare(self) -> Path:
        """Writes the properties, and formats an empty data directory, as Kafka requires."""
        logs, properties = self.data_dir / "log", self.data_dir / "server.properties"
        self.data_dir.mkdir(parents=True, exist_ok=True)
        write_properties(properties, logs, self.port, self._controller_port, self.further)
        if not (logs / "meta.properties").exists():
            identity = f"--cluster-id={secrets.token_urlsafe(16)}"
            # A short run: optimised compilation costs more than it saves.
            options = ["-XX:TieredStopAtLevel=1"]
            tool = self._spawn(options, "kafka.tools.StorageTool", "format", identity, "--config", properties)
            if tool.wait(READY_S):
                raise SetUpError(f"Kafka could not format {logs}: {self._log_end()}")
        return properties

    def _spawn(self, options: Sequence[str], main: str, *arguments: str | Path) -> subprocess.Popen[bytes]:
        """Runs a class of the broker's jars, which dies with this process; appends its output to the log."""
        path = os.pathsep.join(map(str, jars_of("broker")))
        java = [str(find_java() / "bin" / "java"), "-Dorg.apache.logging.log4j.level=WARN", *options, "-cp", path]
        with self.log.open("ab") as log:
            # A separate session, so that Ctrl-C does not reach the broker: this process stops it.
            return subprocess.Popen(
                dying_with_parent([*java, main, *map(str, arguments)]),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _await_ready(self) -> None:
        client, deadline = admin(self.bootstrap_servers), time.monotonic() + READY_S
        while not answers(client):
            if not self.running:
                raise SetUpError(f"The Kafka broker ended while it started: {self._log_end()}")
            if time.monotonic() > deadline:
                raise SetUpError(f"The Kafka broker did not answer within {READY_S:.0f} s: {self._log_end()}")

    def _log_end(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-QUOTED_LINES:]
        return "\n".join([f"the end of {self.log} is", *lines])


def _check_free(port: int) -> None:
    """Raises SetUpError if `port` is in use: Kafka needs seconds to notice, and another broker would answer for it."""
    try:
        socket.create_server((HOST, port)).close()
    except OSError as cause:
        raise SetUpError(f"Port {port} of {HOST} is taken; stop what listens there, or choose another port.") from cause


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a broker in the foreground; returns 2 if it cannot start, 1 if it ends by itself."""
    parser = argparse.ArgumentParser(prog="python -m demo.broker", description="Run a Kafka broker until Ctrl-C.")
    parser.add_argument("--port", type=int, default=9092, help="where clients connect (default 9092)")
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of its persistent data")
    parser.add_argument("--heap", default="768m", help="limit of the JVM's heap (default 768m)")
    chosen = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with Broker(chosen.data_dir, chosen.port, chosen.heap) as broker:
            sys.stdout.write(f"Kafka answers on {broker.bootstrap_servers}; its log is {broker.log}\n")
            sys.stdout.flush()
            broker.wait()
            sys.stderr.write(f"The Kafka broker ended by itself; see {broker.log}\n")
            return 1
    except SetUpError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
