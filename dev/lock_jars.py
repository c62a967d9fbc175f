"""Writes jars.lock and the locks of `dev`: `python -m dev.lock_jars` after changing a version below.

Needs Maven, which nothing else does: it resolves the dependencies of the broker and verifies each file by its published
checksum. `tidemark.pipeline.runtime.jars` reads the locks.
"""

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

# Spark's version of Kafka's client, by which the connector reads.
SPARK = ("org.apache.kafka:kafka-clients:3.9.2",)
# Spark's own source of Kafka and its Avro are 4.0.0 with PySpark 4.0.5: the API of sources did not change. Commons Pool
# is their only dependency that Spark does not include.
PEERS = (
    "org.apache.commons:commons-pool2:2.12.0",
    "org.apache.spark:spark-avro_2.13:4.0.0",
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
)
# The service needs no Delta in Spark: delta-rs writes its tables.
DELTA = ("io.delta:delta-spark_4.0_2.13:4.4.0", "io.delta:delta-storage:4.4.0")
# Hadoop's client of S3, at Spark's version of Hadoop, with the modules of the AWS SDK that it needs: hadoop-aws depends
# on a bundle of all modules, which has 558 MB. Central lacks a module in the SDK's version 2.24, which the bundle has.
S3 = ("org.apache.hadoop:hadoop-aws:3.4.1",)
AWS_SDK = ("software.amazon.awssdk:s3-transfer-manager:2.25.53", "software.amazon.awssdk:sts:2.25.53")
# Spark has the SDK's other dependencies.
NOT_IN_SPARK = ("software.amazon.", "org.reactivestreams:")
# The compiler of the connector; it needs a Java to run in, but no JDK.
COMPILER = ("org.eclipse.jdt:ecj:3.40.0",)
# Kafka logs through slf4j, and only its distribution has a binding; without a binding a failed start logs nothing.
BROKER = ("org.apache.kafka:kafka_2.13:4.1.1", "org.apache.logging.log4j:log4j-slf4j-impl:2.24.3")
# Flink, and the other jars of the benchmarks. The Kafka connector has its own releases, and no release for 2.3 yet;
# the API of sources is that of 2.2. For Parquet Flink needs Hadoop, which it does not include.
FLINK = (
    *(
        f"org.apache.flink:{name}:2.3.0"
        for name in (
            "flink-avro",
            "flink-clients",
            "flink-connector-files",
            "flink-json",
            "flink-parquet",
            "flink-table-api-java-bridge",
            "flink-table-planner-loader",
            "flink-table-runtime",
        )
    ),
    "org.apache.flink:flink-connector-kafka:5.0.0-2.2",
    "org.apache.hadoop:hadoop-client-runtime:3.4.1",
    "org.apache.logging.log4j:log4j-slf4j-impl:2.24.3",
)

# Kafka Streams in the duel. Maven would choose an older jackson-core than jackson-databind needs.
STREAMS = (
    "org.apache.kafka:kafka-streams:4.2.0",
    "org.apache.avro:avro:1.11.4",
    "com.fasterxml.jackson.core:jackson-core:2.19.2",
    "org.apache.logging.log4j:log4j-slf4j-impl:2.24.3",
)
# A client of the SQL server in a test.
JDBC = ("org.postgresql:postgresql:42.7.8",)

HEADER = """\
# Every jar that Tidemark fetches, with its SHA-256. Written by `dev.lock_jars`, read by `pipeline/runtime/jars.py`.
# spark: on the class path of driver and executors. delta: for a Spark session that reads the tables. peers: Spark's own
# Kafka source and Avro, for benchmarks. s3: also, if executors read and write a warehouse in S3. broker: the Kafka
# broker of the demo and the tests.
"""
COMPILER_HEADER = """\
# The compiler of the connector, with its SHA-256; it needs a Java to run in, but no JDK. Written by `dev.lock_jars`,
# read by `dev.connector`.
"""
FLINK_HEADER = """\
# Flink's jars, with their SHA-256, for `make flink` and `make bench`. Written by `dev.lock_jars`, read by `dev.flink`.
"""
STREAMS_HEADER = """\
# Jars of Kafka Streams, with their SHA-256, for `make duel`. Written by `dev.lock_jars`.
"""
JDBC_HEADER = """\
# PostgreSQL's JDBC driver, with its SHA-256, for a test of the SQL server. Written by `dev.lock_jars`.
"""
POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidemark</groupId><artifactId>lock</artifactId><version>1</version>
  <dependencies>{dependencies}</dependencies>
</project>
"""
DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


def resolve(roots: tuple[str, ...], *, transitive: bool) -> dict[str, Path]:
    """Returns the run-time jars of `roots` by Maven: coordinate -> file in the local repository."""
    with tempfile.TemporaryDirectory() as work:
        pom, listing = Path(work, "pom.xml"), Path(work, "listing")
        pom.write_text(POM.format(dependencies="".join(DEPENDENCY.format(*root.split(":")) for root in roots)))
        goal = ["dependency:list", "-DincludeScope=runtime", "-DoutputAbsoluteArtifactFilename=true"]
        options = [f"-DoutputFile={listing}", f"-DexcludeTransitive={str(not transitive).lower()}"]
        subprocess.run(["mvn", "-q", "-B", "-f", str(pom), *goal, *options], check=True)
        return dict(parsed(line) for line in listing.read_text().splitlines() if ":jar:" in line)


def parsed(line: str) -> tuple[str, Path]:
    """Parses `group:artifact:jar:version:scope:/file -- module ...` into coordinate and file."""
    group, artifact, _, version, _, rest = line.strip().split(":", 5)
    return f"{group}:{artifact}:{version}", Path(rest.split(" -- ")[0].strip())


def aws_sdk() -> dict[str, Path]:
    """Returns the jars of `AWS_SDK` and of the dependencies that Spark lacks."""
    return {jar: path for jar, path in resolve(AWS_SDK, transitive=True).items() if jar.startswith(NOT_IN_SPARK)}


def section(name: str, jars: dict[str, Path]) -> str:
    """Returns a table of the lock, sorted so that a change of version is a short diff."""
    lines = (f'"{jar}" = "{hashlib.sha256(path.read_bytes()).hexdigest()}"' for jar, path in sorted(jars.items()))
    return "\n".join([f"[{name}]", *lines]) + "\n"


def main() -> None:
    """Resolves all sets of jars and replaces the repository's locks."""
    sections = {
        "spark": resolve(SPARK, transitive=False),
        "delta": resolve(DELTA, transitive=False),
        "peers": resolve(PEERS, transitive=False),
        "s3": resolve(S3, transitive=False) | aws_sdk(),
        "broker": resolve(BROKER, transitive=True),
    }
    lock = Path(__file__).parents[1] / "jars.lock"
    lock.write_text("\n".join([HEADER, *(section(name, jars) for name, jars in sections.items())]))
    sys.stdout.write(f"{lock.name}: {', '.join(f'{len(jars)} jars in {name}' for name, jars in sections.items())}\n")
    compiler = section("compiler", resolve(COMPILER, transitive=False))
    Path(__file__).with_name("compiler.lock").write_text(f"{COMPILER_HEADER}\n{compiler}")
    flink = resolve(FLINK, transitive=True)
    Path(__file__).with_name("flink.lock").write_text("\n".join([FLINK_HEADER, section("flink", flink)]))
    sys.stdout.write(f"flink.lock: {len(flink)} jars\n")
    streams = resolve(STREAMS, transitive=True)
    Path(__file__).with_name("streams.lock").write_text("\n".join([STREAMS_HEADER, section("streams", streams)]))
    sys.stdout.write(f"streams.lock: {len(streams)} jars\n")
    jdbc = section("jdbc", resolve(JDBC, transitive=False))
    Path(__file__).with_name("jdbc.lock").write_text(f"{JDBC_HEADER}\n{jdbc}")


if __name__ == "__main__":
    main()
