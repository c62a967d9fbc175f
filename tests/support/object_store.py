"""An object store for the tests: SeaweedFS, one process, with buckets and a key as S3 has them."""

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from demo.children import free_ports
from tests.support.processes import Process
from tests.support.waiting import PATIENCE_S, wait_for

HOST: Final = "127.0.0.1"
_PROGRAM: Final = Path(sys.executable).with_name("weed")
_KEY: Final = {"accessKey": "tidemark", "secretKey": "a-secret-of-the-tests"}
_IDENTITIES: Final = {"identities": [{"name": "tidemark", "credentials": [_KEY], "actions": ["Admin"]}]}
_PORTS: Final = (
    *("master.port", "master.port.grpc", "volume.port", "volume.port.grpc"),
    *("filer.port", "filer.port.grpc", "s3.port", "s3.port.grpc"),
)


@dataclass
class ObjectStore:
    """A store whose data and address outlive its process."""

    folder: Path
    ports: dict[str, int] = field(default_factory=lambda: dict(zip(_PORTS, free_ports(len(_PORTS)), strict=True)))
    process: Process | None = None

    @property
    def endpoint(self) -> str:
        """Where it is asked."""
        return f"http://{HOST}:{self.ports['s3.port']}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which delta-rs finds it."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": _KEY["accessKey"],
            "AWS_SECRET_ACCESS_KEY": _KEY["secretKey"],
        }

    def start(self) -> None:
        """Brings it up, and returns when it answers."""
        (self.folder / "data").mkdir(parents=True, exist_ok=True)
        identities = self.folder / "identities.json"
        identities.write_text(json.dumps(_IDENTITIES))
        options = [f"-{name}={port}" for name, port in self.ports.items()]
        # Two volumes a bucket, and small ones: by default each takes a gigabyte of the disk's free space for itself.
        small = ["-master.volumeSizeLimitMB=64", "-volume.max=50", "-master.volumePreallocate=false"]
        here = [f"-ip={HOST}", f"-ip.bind={HOST}", f"-dir={self.folder / 'data'}", "-filer", "-s3"]
        # It has catalogs on ports of its own, too.
        here += ["-s3.port.iceberg=0", "-s3.port.lance=0"]
        command = [str(_PROGRAM), "server", *here, *options, *small, f"-s3.config={identities}"]
        self.process = Process(command, self.folder / "store.log")
        wait_for(lambda: self._answers(self.endpoint) and self._answers(self._filer), PATIENCE_S, "the store's start")

    def kill(self) -> None:
        """Ends it as a power cut would."""
        if self.process is not None:
            self.process.kill()

    def make_bucket(self, name: str) -> None:
        """Makes a bucket; a folder of its filer is one."""
        request = urllib.request.Request(f"{self._filer}/buckets/{name}/", method="POST")  # noqa: S310 - our own
        urllib.request.urlopen(request).close()  # noqa: S310 - the address is ours

    @property
    def _filer(self) -> str:
        return f"http://{HOST}:{self.ports['filer.port']}"

    def _answers(self, address: str) -> bool:
        assert self.process is not None
        assert self.process.alive, self.process.said
        try:
            urllib.request.urlopen(address, timeout=PATIENCE_S).close()  # noqa: S310 - our own
        except urllib.error.HTTPError:
            return True  # it wants a key
        except OSError:
            return False
        return True


@contextmanager
def object_store(folder: Path) -> Iterator[ObjectStore]:
    """A store at work until the context ends."""
    store = ObjectStore(folder)
    try:
        store.start()
        yield store
    finally:
        store.kill()
