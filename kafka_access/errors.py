"""What keeps a client out, by who can mend it.

AccessError   a setting or a file is not as it must be
Refused       a broker answered, and did not let the client in
"""

from confluent_kafka import KafkaError, KafkaException


class AccessError(ValueError):
    """Nothing was asked of a broker yet; the text is one sentence that names the setting."""


class Refused(KafkaException):
    """Its text is one sentence that says what to change."""

    def __init__(self, error: KafkaError, sentence: str) -> None:
        super().__init__(error)
        self.sentence = sentence

    def __str__(self) -> str:
        """The sentence."""
        return self.sentence
