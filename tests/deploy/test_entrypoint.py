"""The image's entry does what Spark asks of containers on Kubernetes, and else what a person asks."""

import json
import subprocess
import sys
from pathlib import Path

from deploy.docker import entrypoint
from deploy.docker.entrypoint import command, properties
from tests.deploy.files import values_of

EXECUTOR = {
    "SPARK_EXECUTOR_MEMORY": "1024m",
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.0.0.6:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_APPLICATION_ID": "spark-application-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.7",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_EXECUTOR_POD_NAME": "tidemark-exec-3",
    "SPARK_JAVA_OPT_10": "-Dlast",
    "SPARK_JAVA_OPT_2": "-Dspace=a b",
}


def test_a_word_that_is_no_role_of_spark_is_a_command_of_tidemark() -> None:
    assert command(["status", "--warehouse", "/w"], {}) == (["tidemark", "status", "--warehouse", "/w"], {})


def test_an_executor_is_started_with_all_that_its_environment_says() -> None:
    words, _ = command(["executor"], EXECUTOR)
    assert words[:5] == ["java", "-Dspace=a b", "-Dlast", "-Xms1024m", "-Xmx1024m"]
    options = dict(zip(words[-14::2], words[-13::2], strict=True))
    assert (options["--executor-id"], options["--cores"], options["--hostname"]) == ("3", "2", "10.0.0.7")


def test_an_executor_is_where_it_may_write_the_jars_that_it_copies(tmp_path: Path) -> None:
    java, scratch, started = tmp_path / "java", tmp_path / "scratch", tmp_path / "started"
    java.write_text(f"#!/bin/sh\npwd > {started}\n")
    java.chmod(0o755)
    scratch.mkdir()
    environment = {**EXECUTOR, "PATH": str(tmp_path), "TMPDIR": str(scratch)}
    subprocess.run([sys.executable, entrypoint.__file__, "executor"], env=environment, check=True)
    assert started.read_text().strip() == str(scratch)


def test_a_driver_is_the_service_with_sparks_properties_as_settings(tmp_path: Path) -> None:
    file = tmp_path / "spark.properties"
    file.write_text(
        "#Java properties built from Kubernetes config map\n"
        "spark.master=k8s\\://https\\://kubernetes.default.svc\n"
        "spark.submit.deployMode=cluster\n"
        "spark.executor.memory=1g\n"
    )
    # As Spark's DriverCommandFeatureStep writes it.
    options = ["--properties-file", str(file), "--class", "org.apache.spark.deploy.PythonRunner"]
    job = ["local:///opt/tidemark/tidemark_job.py", "run", "--topic", "t"]
    words, variables = command(["driver", *options, *job], {"SPARK_DRIVER_BIND_ADDRESS": "10.0.0.5"})
    assert words == ["tidemark", "run", "--topic", "t"]
    assert variables["TIDEMARK_SPARK__MASTER"] == "k8s://https://kubernetes.default.svc"
    assert json.loads(variables["TIDEMARK_SPARK__CONF"]) == {
        "spark.submit.deployMode": "client",
        "spark.driver.bindAddress": "10.0.0.5",
        "spark.executor.memory": "1g",
    }


def test_properties_are_read_as_java_writes_them() -> None:
    text = "a\\ b=c\\=d\\:e\\#\nslash=\\\\\nline=x\\ny\nletter=\\u00E9\nnothing=\n"
    assert properties(text) == {"a b": "c=d:e#", "slash": "\\", "line": "x\ny", "letter": "é", "nothing": ""}


def test_the_image_contains_what_the_entry_point_runs() -> None:
    copied = " ".join(values_of("COPY"))
    assert "deploy/docker/entrypoint.py" in copied
    assert "deploy/spark-submit/tidemark_job.py" in copied
