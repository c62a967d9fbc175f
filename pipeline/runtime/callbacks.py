"""The port at which Java calls Python: Py4J asks for no secret there, so any user of the machine could call, too."""

from typing import Any

from py4j.java_gateway import JavaObject
from pyspark import SparkContext
from pyspark.java_gateway import ensure_callback_server_started


def authenticate_callbacks(context: SparkContext) -> None:
    """Has Python ask for the secret of the gateway before each connection's first call, and Java send it.

    PySpark does so itself where threads are not pinned (`PYSPARK_PIN_THREAD`).
    """
    gateway: Any = context._gateway  # noqa: SLF001 - PySpark has no way to it
    parameters = gateway.callback_server_parameters
    if parameters.auth_token is not None:
        return
    parameters.auth_token = gateway.gateway_parameters.auth_token
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]  # makes the client below anew, and without a secret
    client = JavaObject("GATEWAY_SERVER", gateway._gateway_client).getCallbackClient()  # noqa: SLF001
    field = gateway.jvm.java.lang.Class.forName("py4j.CallbackClient").getDeclaredField("authToken")
    field.setAccessible(True)
    field.set(client, parameters.auth_token)
