"""Access to private parts of PySpark that have no public counterpart. Check them with each new version of PySpark."""

import subprocess
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any, Final

from py4j.java_gateway import JavaObject
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import ensure_callback_server_started, launch_gateway
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.classic.column import Column as ClassicColumn

from tidemark.pipeline.errors import JavaEnded

_IS_BEFORE_4_1: Final = version("pyspark").startswith("4.0.")
CHECKPOINT_FILES: Final = (
    f"org.apache.spark.sql.execution.streaming.{'' if _IS_BEFORE_4_1 else 'checkpointing.'}"
    "FileSystemBasedCheckpointFileManager"
)
"""The class that writes checkpoints without forking `chmod`; Spark 4.1 moved it."""
_OF_NOW: Final = ("Current", "LocalTime", "Now")
"""How names of the classes begin that Spark replaces by the time, user or catalog of a query."""
_ENDED_AT_START: Final = (
    "Spark's Java process ended while it started: the lines above are its own; without any it was probably killed, for "
    "example because the memory limit is too low"
)


def start_java(conf: SparkConf | None = None) -> None:
    """Starts the Java process with the properties in `conf`, or connects to that of spark-submit; once per process.

    It is in a process group of its own: a signal to the group of this process, such as Ctrl-C of a terminal, would end
    Java in the midst of the batch that this process still commits. It ends when this process does, at the end of input.
    Raises JavaEnded if it ends before it answers.
    """
    if not is_java_started():
        try:
            gateway = launch_gateway(conf, {"process_group": 0})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            raise JavaEnded(_ENDED_AT_START) from error
        SparkContext._ensure_initialized(gateway=gateway, conf=conf)  # noqa: SLF001


def log_in(name: str) -> None:
    """Makes `name` the user of Hadoop's clients, which otherwise read it from passwd, and fail without an entry."""
    users: Any = SparkContext._jvm.org.apache.hadoop.security.UserGroupInformation  # type: ignore[union-attr]  # noqa: SLF001
    users.setLoginUser(users.createRemoteUser(name))


def is_java_started() -> bool:
    """Returns whether this process has, or had, a Java process."""
    return SparkContext._gateway is not None  # noqa: SLF001


def java_child() -> subprocess.Popen[bytes] | None:
    """Returns the Java process; None before it is started, and if spark-submit started this process."""
    return getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001


def java_packages(session: SparkSession) -> Any:
    """Returns the root of all Java packages: `java_packages(session).java.lang.Runtime`."""
    return session.sparkContext._jvm  # noqa: SLF001


def applied(function: Any, frame: DataFrame, *arguments: Any) -> DataFrame:
    """Returns the frame that a function in Java makes of a frame and further arguments."""
    made: DataFrame = type(frame)(function(frame._jdf, *arguments), frame.sparkSession)  # noqa: SLF001
    return made


class Selection:
    """Columns that are sent to Java once: PySpark has no public way to reuse Java's columns.

    Each column costs several messages, which took a tenth of a small batch's time.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._java_columns: Any = None

    def apply(self, frame: DataFrame) -> DataFrame:
        """Returns the columns of `frame`, like its `select`."""
        if self._java_columns is None:
            self._java_columns = frame._jcols(*self._columns)  # type: ignore[operator]  # noqa: SLF001
        selected: DataFrame = type(frame)(frame._jdf.select(self._java_columns), frame.sparkSession)  # noqa: SLF001
        return selected


def hadoop_configuration(session: SparkSession) -> Any:
    """Returns the configuration of Hadoop's clients."""
    return session.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001


def planned_expressions(frame: DataFrame) -> str:
    """Returns the expressions of the last step of a frame's optimized plan, as Spark prints them."""
    plan: Any = frame._jdf.queryExecution().optimizedPlan()  # noqa: SLF001
    return str(plan.expressions().mkString())


def volatile_parts(frame: DataFrame) -> list[str]:
    """Returns the SQL of each part of a frame's last step that depends on the clock, on chance or on the task.

    The first is the smallest part that has no certain value for a row.
    """
    plan: Any = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    return [part for expression in _items(plan.expressions()) for part in _volatile(expression)]


def _volatile(expression: Any) -> list[str]:
    parts = [part for child in _items(expression.children()) for part in _volatile(child)]
    kind: str = expression.getClass().getSimpleName()
    if kind.startswith(_OF_NOW) or (not expression.deterministic() and not parts):
        return [*parts, str(expression.sql())]
    return parts


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.size())]


def null_if_it_fails(column: Column, session: SparkSession) -> Column:
    """Returns the values of a column, null for rows for which Spark raises an error."""
    catalyst = java_packages(session).org.apache.spark.sql
    utils = catalyst.classic.ExpressionUtils
    expression = utils.expression(column._jc)  # noqa: SLF001
    return ClassicColumn(utils.column(catalyst.catalyst.expressions.TryEval(expression)))


def is_utf8(name: str, session: SparkSession) -> Column:
    """Returns whether the texts of a column are UTF-8; null for null. See `connector/tidemark/Utf8.java`."""
    return ClassicColumn(java_packages(session).tidemark.Utf8.isUtf8(F.col(name)._jc))  # noqa: SLF001


def remembered(text: Column, frame: DataFrame) -> Column:
    """Returns the values of a text over `frame`, computed once for equal texts. See `connector/tidemark/Memo.java`."""
    memo = java_packages(frame.sparkSession).tidemark.Memo
    return ClassicColumn(memo.column(frame._jdf, text._jc))  # noqa: SLF001


def scaled_number(column: Column, digits: int, bound: int, session: SparkSession) -> Column:
    """Returns numbers times 10 ** `digits`; null if that is no whole number up to `bound`. See `Numbers.java`."""
    numbers = java_packages(session).tidemark.Numbers
    return ClassicColumn(numbers.scaled(column._jc, digits, bound))  # noqa: SLF001


def bucket(column: Column, session: SparkSession) -> Column:
    """Returns the buckets of whole numbers, as `tidemark.pipeline.ddsketch.bucket_of` does; null without a number."""
    return ClassicColumn(java_packages(session).tidemark.Numbers.bucketed(column._jc))  # noqa: SLF001


def remove_properties(context: SparkContext, names: Iterable[str]) -> None:
    """Removes properties from the configuration that Spark lists."""
    java: Any = context._jsc  # noqa: SLF001
    for name in names:
        java.sc().conf().remove(name)


def authenticate_callbacks(context: SparkContext) -> None:
    """Makes Python require the secret of the gateway before the first call of each connection, and Java send it.

    By default Py4J requires no secret at the port where Java calls Python, so any user of the machine could call.
    PySpark requires it only if threads are not pinned (`PYSPARK_PIN_THREAD`).
    """
    gateway: Any = context._gateway  # noqa: SLF001
    parameters = gateway.callback_server_parameters
    if parameters.auth_token is not None:
        return
    parameters.auth_token = gateway.gateway_parameters.auth_token
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]  # creates a new client, without a secret
    client = JavaObject("GATEWAY_SERVER", gateway._gateway_client).getCallbackClient()  # noqa: SLF001
    field = gateway.jvm.java.lang.Class.forName("py4j.CallbackClient").getDeclaredField("authToken")
    field.setAccessible(True)
    field.set(client, parameters.auth_token)


def end_java(session: SparkSession, timeout_s: float) -> int:
    """Stops a session and its Java process in good order, and returns the exit code of that process."""
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()  # it ends when its input ends
    exit_code: int = gateway.proc.wait(timeout_s)
    return exit_code
