"""Reasons why a client cannot connect.

AccessError   a setting or a file is wrong
Refused       a broker answered and refused the client
"""

from confluent_kafka import KafkaError, KafkaException


class AccessError(ValueError):
    """A wrong setting, found before any request; the text is one sentence that names the setting."""


class Refused(KafkaException):
    """A refusal by a broker; the text is one sentence that says what to change."""

    def __init__(self, error: KafkaError, sentence: str) -> None:
        super().__init__(error)
        self.sentence = sentence

    def __str__(self) -> str:
        """Returns the sentence."""
        return self.sentence
