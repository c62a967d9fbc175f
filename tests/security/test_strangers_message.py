"""A stranger who reaches ports of Spark or Py4J: messages are refused, and work goes on."""

import socket
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.brief_java import BRIEF_DRIVER
from tests.support.waiting import PATIENCE_S, wait_for
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import SparkSettings

pytestmark = pytest.mark.jvm
REQUEST, FAILURE = 3, 5
"""Types of messages. Source: Spark, `network/protocol/Message.java`."""
HEADER = struct.Struct(">qbqi")
"""The length of the frame, the type, the number of the request, and the length of what follows."""
CALLS = (b"c\np0\n__class__\ne\n", b"g\np0\ne\n", b"A\nwrong\ne\nc\np0\n__class__\ne\n")
"""A call of the function of batches, its removal, and a call after a wrong secret. Source: Py4J, `protocol.py`."""


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


def test_a_strangers_calls_to_python_are_refused_and_batches_go_on(tmp_path: Path) -> None:
    spark = spark_session(SparkSettings(conf=BRIEF_DRIVER))
    batches: list[int] = []
    writer = spark.readStream.format("rate").load().writeStream.foreachBatch(lambda _, batch: batches.append(batch))
    query = writer.option("checkpointLocation", str(tmp_path)).start()
    wait_for(lambda: batches, PATIENCE_S, "a batch")
    gateway: Any = spark.sparkContext._gateway
    address = ("127.0.0.1", gateway._callback_server.get_listening_port())
    for call in CALLS:
        with socket.create_connection(address, PATIENCE_S) as stranger:
            stranger.sendall(call)
            assert answer_of(stranger) in (b"", b"!xn\n"), call
    before = len(batches)
    wait_for(lambda: len(batches) > before, PATIENCE_S, "a batch after the calls")
    query.stop()


def answer_of(stranger: socket.socket) -> bytes:
    """Returns what comes until the connection is reset."""
    answer = b""
    with suppress(ConnectionResetError):
        while more := stranger.recv(4096):
            answer += more
    return answer
