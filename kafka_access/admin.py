"""Asking about a topic, and hearing at once where a broker does not let the client in."""

import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AclOperation, AdminClient, TopicDescription

from kafka_access.errors import AccessError, Refused
from kafka_access.reasons import forbidden, is_final, is_refusal, refused, unusable
from kafka_access.settings import Access

_LISTEN_S: Final = 0.1
_FORBIDDEN: Final = frozenset({KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED})


class Admin(AdminClient):
    """An admin client that says why it is kept out. librdkafka by itself would ask on until the time is up."""

    def __init__(self, options: Mapping[str, str | int | float | bool], access: Access) -> None:
        """`options` are those of librdkafka. Raises AccessError where it does not take them."""
        self._access = access
        self._heard: list[KafkaError] = []
        try:
            told: dict[str, Any] = {**options, "error_cb": self._heard.append}
            super().__init__(told)
        except KafkaException as error:
            raise AccessError(unusable(error.args[0].str())) from error

    def describe(self, topic: str, operation: AclOperation, seconds: float) -> TopicDescription:
        """What the broker says of a topic on which the client may do an operation.

        Raises Refused where it is kept out or may not, else KafkaException or TimeoutError where no answer is had.
        """
        self._heard.clear()
        asked = self.describe_topics(
            TopicCollection([topic]), include_authorized_operations=True, request_timeout=seconds
        )
        try:
            found = self._answer(asked[topic], seconds)
        except KafkaException as error:
            if error.args[0].code() in _FORBIDDEN:
                raise Refused(error.args[0], forbidden(self._access, operation, topic)) from error
            raise
        allowed = found.authorized_operations  # none where an old broker does not tell
        if allowed and operation not in allowed:
            missing = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
            raise Refused(missing, forbidden(self._access, operation, topic))
        return found

    def _answer(self, asked: "Future[TopicDescription]", seconds: float) -> TopicDescription:
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            try:
                return asked.result(max(0, min(_LISTEN_S, left)))
            except TimeoutError:
                self._raise_if_refused(at_last=left <= _LISTEN_S)
                if left <= 0:
                    raise
            except KafkaException:
                self._raise_if_refused(at_last=True)
                raise

    def _raise_if_refused(self, *, at_last: bool) -> None:
        """While one of several brokers may still answer, that another refuses is not the end."""
        self.poll(0)
        why = next((error for error in self._heard if is_refusal(error.str())), None)
        all_down = any(error.code() == KafkaError._ALL_BROKERS_DOWN for error in self._heard)  # noqa: SLF001 - its name
        if why and (all_down or at_last or is_final(why.str())):
            raise Refused(why, refused(self._access, why.str()))
