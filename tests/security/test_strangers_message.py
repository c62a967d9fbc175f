"""A stranger who reaches Spark's ports: his messages are refused, and work goes on."""

import socket
import struct

import pytest
from pyspark.sql import SparkSession

from pipeline.runtime.session import spark_session
from pipeline.settings.model import SparkSettings
from tests.support.brief_java import BRIEF_DRIVER

pytestmark = pytest.mark.jvm
REQUEST, FAILURE = 3, 5
"""Types of messages. Source: Spark, `network/protocol/Message.java`."""
HEADER = struct.Struct(">qbqi")
"""The length of the frame, the type, the number of the request, and the length of what follows."""
PATIENCE_S = 20


def stop_message(spark: SparkSession, host: str, port: int) -> bytes:
    """The message by which Spark's own scheduler ends the executor of local mode, as any machine may write it."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    body = jvm.java.io.ByteArrayOutputStream()
    data = jvm.java.io.DataOutputStream(body)
    data.writeBoolean(False)  # from nowhere
    data.writeBoolean(True)
    data.writeUTF(host)
    data.writeInt(port)
    data.writeUTF("LocalSchedulerBackendEndpoint")
    stop = jvm.java.lang.Class.forName("org.apache.spark.scheduler.local.StopExecutor$").getField("MODULE$").get(None)
    jvm.java.io.ObjectOutputStream(data).writeObject(stop)
    content = bytes(body.toByteArray())
    return HEADER.pack(HEADER.size + len(content), REQUEST, 1, len(content)) + content


def test_a_strangers_message_is_refused_and_jobs_go_on() -> None:
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    conf = spark.sparkContext.getConf()
    host, port = conf.get("spark.driver.host") or "", int(conf.get("spark.driver.port") or 0)
    with socket.create_connection((host, port), PATIENCE_S) as stranger:
        stranger.sendall(stop_message(spark, host, port))
        answer = stranger.recv(HEADER.size)
    assert not answer or HEADER.unpack(answer)[1] == FAILURE
    assert spark.range(10).repartition(2).count() == 10
