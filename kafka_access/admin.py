"""Describes topics, and fails at once if a broker refuses the client."""

import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AclOperation, AdminClient, TopicDescription

from tidemark.kafka_access.errors import AccessError, Refused
from tidemark.kafka_access.reasons import (
    advertised_sentence,
    forbidden_sentence,
    is_final,
    is_refusal,
    refusal_sentence,
    unusable_sentence,
)
from tidemark.kafka_access.settings import Access

_POLL_S: Final = 0.1
_UNREACHED: Final = frozenset({KafkaError._RESOLVE, KafkaError._TRANSPORT})  # noqa: SLF001 - its names
_FORBIDDEN: Final = frozenset({KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED})


class Admin(AdminClient):
    """An admin client that reports why it is refused. librdkafka alone would retry until the time-out."""

    def __init__(self, options: Mapping[str, str | int | float | bool], access: Access) -> None:
        """`options` are properties of librdkafka. Raises AccessError if it rejects them."""
        self._access = access
        self._errors: list[KafkaError] = []
        self._advertised: str | None = None
        try:
            config: dict[str, Any] = {**options, "error_cb": self._take}
            super().__init__(config)
        except KafkaException as error:
            raise AccessError(unusable_sentence(error.args[0].str())) from error

    def advertised(self) -> str | None:
        """Returns a sentence if the latest broker that could not be reached was one that another broker named."""
        self.poll(0)
        return self._advertised

    def _take(self, error: KafkaError) -> None:
        self._errors.append(error)
        if error.code() in _UNREACHED:
            self._advertised = advertised_sentence(error.str())

    def describe(self, topic: str, operation: AclOperation, seconds: float) -> TopicDescription:
        """Returns the description of `topic`; waits at most `seconds`.

        Raises Refused if the client is refused or may not do `operation`, else KafkaException or TimeoutError if no
        broker answers.
        """
        self._errors.clear()
        futures = self.describe_topics(
            TopicCollection([topic]), include_authorized_operations=True, request_timeout=seconds
        )
        try:
            description = self._answer(futures[topic], seconds)
        except KafkaException as error:
            if error.args[0].code() in _FORBIDDEN:
                raise Refused(error.args[0], forbidden_sentence(self._access, operation, topic)) from error
            raise
        allowed = description.authorized_operations  # None from an old broker
        if allowed and operation not in allowed:
            missing = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
            raise Refused(missing, forbidden_sentence(self._access, operation, topic))
        return description

    def _answer(self, future: "Future[TopicDescription]", seconds: float) -> TopicDescription:
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            try:
                return future.result(max(0, min(_POLL_S, left)))
            except TimeoutError:
                self._raise_if_refused(at_last=left <= _POLL_S)
                if left <= 0:
                    raise
            except KafkaException:
                self._raise_if_refused(at_last=True)
                raise

    def _raise_if_refused(self, *, at_last: bool) -> None:
        """Raises Refused if a broker refused the client and no other broker can still accept it."""
        self.poll(0)
        refusal = next((error for error in self._errors if is_refusal(error.str())), None)
        all_down = any(error.code() == KafkaError._ALL_BROKERS_DOWN for error in self._errors)  # noqa: SLF001 - its name
        if refusal and (all_down or at_last or is_final(refusal.str())):
            raise Refused(refusal, refusal_sentence(self._access, refusal.str()))
