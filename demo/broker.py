"""A real Kafka broker without Docker: one process of the locked jars, for the demo and the tests.

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
from demo.die_with_parent import dying_with_parent
from demo.topics import admin, answers, create_topic
from pipeline.errors import SetUpError
from pipeline.runtime.jars import jars_of
from pipeline.runtime.java import find_java

HOST = "127.0.0.1"
READY_S = 60.0
STOP_S = 30.0
SHOWN_LINES = 6


class Broker:
    """A single-node KRaft broker on 127.0.0.1 whose data outlives it: a context manager that starts and stops it.

    `heap` is the JVM's limit. The port stays the same over stop(), kill() and restart(). Methods that start it raise
    SetUpError when Java or the jars are missing, the port is taken, or the broker does not come up.
    """

    def __init__(
        self,
        data_dir: Path,
        port: int | None = None,
        heap: str = "768m",
        further: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        """Choose ports, without starting anything yet.

        `further` are properties that win over the broker's own, `options` those of its JVM.
        """
        self.data_dir = data_dir.absolute()
        self.heap = heap
        self.further = further or {}
        self.options = options
        free, self._controller_port = _free_ports()
        self.port = port or free
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        """The address that clients are given."""
        return f"{HOST}:{self.port}"

    @property
    def log(self) -> Path:
        """Where the broker's own words go."""
        return self.data_dir / "broker.log"

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> Self:
        """Start the broker on what `data_dir` holds, and wait until it answers."""
        _refuse_taken(self.port)
        properties = self._prepare()
        # SIGKILL is among the expected ends, and this one is for all the others.
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
        """End it in good order, or after half a minute by force."""
        if self._process and self.running:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_S)
        self.kill()

    def kill(self) -> None:
        """End it as a crash would: SIGKILL, no farewell to anyone."""
        if self._process:
            self._process.kill()
            self._process.wait()
        atexit.unregister(self.stop)

    def restart(self) -> None:
        """Start again with the same data on the same port, after a stop if it still runs."""
        self.stop()
        self.start()

    def wait(self) -> int:
        """Wait until the process ends; returns its exit code."""
        return self._process.wait() if self._process else 0

    def create_topic(self, name: str, partitions: int = 1, **config: object) -> None:
        """Create a topic and wait for its leaders; `retention_ms=-1` sets `retention.ms`."""
        create_topic(self.bootstrap_servers, name, partitions, **config)

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self.stop()

    def _prepare(self) -> Path:
        """Write the properties, and give an empty directory the identity that Kafka wants to find there."""
        logs, properties = self.data_dir / "log", self.data_dir / "server.properties"
        self.data_dir.mkdir(parents=True, exist_ok=True)
        write_properties(properties, logs, self.port, self._controller_port, self.further)
        if not (logs / "meta.properties").exists():
            identity = f"--cluster-id={secrets.token_urlsafe(16)}"
            # One short run: compiling it well costs more than it gives.
            options = ["-XX:TieredStopAtLevel=1"]
            tool = self._spawn(options, "kafka.tools.StorageTool", "format", identity, "--config", properties)
            if tool.wait(READY_S):
                raise SetUpError(f"Kafka could not format {logs}: {self._last_words()}")
        return properties

    def _spawn(self, options: Sequence[str], main: str, *arguments: str | Path) -> subprocess.Popen[bytes]:
        """Run a class of the broker's jars, tied to this process, its output at the end of the log."""
        path = os.pathsep.join(map(str, jars_of("broker")))
        java = [str(find_java() / "bin" / "java"), "-Dorg.apache.logging.log4j.level=WARN", *options, "-cp", path]
        with self.log.open("ab") as log:
            # A session of its own, so that Ctrl-C reaches the one who decides when the broker may go.
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
                raise SetUpError(f"The Kafka broker ended while it started: {self._last_words()}")
            if time.monotonic() > deadline:
                raise SetUpError(f"The Kafka broker did not answer within {READY_S:.0f} s: {self._last_words()}")

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-SHOWN_LINES:]
        return "\n".join([f"the end of {self.log} is", *lines])


def _free_ports() -> tuple[int, int]:
    """Two ports that nobody listens on now."""
    with socket.create_server((HOST, 0)) as one, socket.create_server((HOST, 0)) as other:
        return one.getsockname()[1], other.getsockname()[1]


def _refuse_taken(port: int) -> None:
    """Say it at once: Kafka takes seconds to notice, and meanwhile the other one would answer for it."""
    try:
        socket.create_server((HOST, port)).close()
    except OSError as cause:
        raise SetUpError(f"Port {port} of {HOST} is taken; stop what listens there, or choose another port.") from cause


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a broker in the foreground; exit code 2 when it cannot start, 1 when it ends by itself."""
    parser = argparse.ArgumentParser(prog="python -m demo.broker", description="Run a Kafka broker until Ctrl-C.")
    parser.add_argument("--port", type=int, default=9092, help="where clients connect (default 9092)")
    parser.add_argument("--data-dir", type=Path, required=True, help="where its data is kept between runs")
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
