"""Starts Spark as `tidemark run` does, prints what a test looks at as a line of JSON, and waits to be killed."""

import json
import os
import sys
import tempfile
from pathlib import Path

from tidemark.pipeline.runtime.java_process import java_pid
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import SparkSettings


def main() -> None:
    """The properties come as JSON in the first argument's file."""
    spark = spark_session(SparkSettings(conf=json.loads(Path(sys.argv[1]).read_text())))
    context = spark.sparkContext
    jvm = context._jvm
    assert jvm is not None
    spark.range(1000).repartition(3).persist().count()
    manager = jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager()
    seen = {
        "java": java_pid(),
        "set": [list(row) for row in spark.sql("SET").collect() + spark.newSession().sql("SET -v").collect()],
        "hadoop": context._jsc.hadoopConfiguration().get("fs.azure.account.key.x"),
        "blocks": manager.localDirsString()[0],
        "temporary": [tempfile.gettempdir(), jvm.java.lang.System.getProperty("java.io.tmpdir")],
        "umask": os.umask(0),
    }
    sys.stdout.write(f"{json.dumps(seen)}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
