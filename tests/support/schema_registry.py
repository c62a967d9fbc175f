"""A real registry of schemas: Apicurio's, by its interface that is compatible with Confluent's."""

import tarfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from demo.children import free_port
from dev.unpack import unpack
from tests.support.processes import Process
from tests.support.waiting import PATIENCE_S, wait_for
from tidemark.pipeline.runtime.download import fetch
from tidemark.pipeline.runtime.jars import cache
from tidemark.pipeline.runtime.java import find_java

VERSION = "3.0.9"
"""The newest that Java 17 runs."""
SHA256 = "2b28181501a20cbf6efcd77f9b7153908fc01f3d3a7c32024c0bd9e1b04c8a43"
URL = (
    "https://repo1.maven.org/maven2/io/apicurio/apicurio-registry-app/"
    f"{VERSION}/apicurio-registry-app-{VERSION}-all.tar.gz"
)


@dataclass(frozen=True)
class SchemaRegistry:
    """A registry at work."""

    url: str

    def register(
        self, subject: str, schema: str, kind: str = "AVRO", refers_to: Mapping[str, str] | None = None
    ) -> int:
        """Adds a version of a subject; returns the id of the schema.

        `refers_to` are the subjects, in their first version, of the types that it refers to, by name.
        """
        # Fast tests of this module's users collect without it: it takes a tenth of a second.
        from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient  # noqa: PLC0415

        references = [SchemaReference(name, named, 1) for name, named in (refers_to or {}).items()]
        return SchemaRegistryClient({"url": self.url}).register_schema(subject, Schema(schema, kind, references))


@contextmanager
def schema_registry(folder: Path) -> Iterator[SchemaRegistry]:
    """A registry that stores nothing on disk. Its 109 MB are fetched at the first use and cached with the jars."""
    port = free_port()
    java = ["-Xmx300m", "-XX:TieredStopAtLevel=1", f"-Dquarkus.http.port={port}", "-Dquarkus.http.host=127.0.0.1"]
    registry = SchemaRegistry(f"http://127.0.0.1:{port}/apis/ccompat/v7")
    command = [str(find_java() / "bin" / "java"), *java, "-jar", str(_program())]
    with Process(command, folder / "registry.log") as process:
        wait_for(lambda: _answers(registry.url) or not process.alive, PATIENCE_S, "the registry")
        assert process.alive, process.said[-2000:]
        yield registry


def _program() -> Path:
    home = cache() / f"apicurio-registry-{VERSION}"
    program = home / f"apicurio-registry-app-{VERSION}-runner.jar"
    if not program.exists():
        home.mkdir(parents=True, exist_ok=True)
        fetch(URL, home / "all.tar.gz", SHA256)
        with tarfile.open(home / "all.tar.gz") as archive:
            unpack(archive, home)
    return program


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/subjects", timeout=PATIENCE_S):  # noqa: S310 - our own address
            return True
    except OSError:
        return False
