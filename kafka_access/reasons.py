"""Why a broker does not let a client in, as one sentence that names what to change.

librdkafka gives a code and a text; the text has OpenSSL's or the broker's reason.
"""

from collections.abc import Sequence
from typing import Final

from confluent_kafka import KafkaError
from confluent_kafka.admin import AclOperation

from kafka_access.settings import Access

_BROKERS: Final = "the broker's certificate"
_TLS: Final[Sequence[tuple[str, str]]] = (
    ("certificate has expired", f"{_BROKERS} has expired: have it renewed"),
    ("certificate is not yet valid", f"{_BROKERS} is not valid yet: look at the clock of this machine"),
    ("hostname mismatch", f"{_BROKERS} is for another host name: correct kafka.bootstrap_servers"),
    ("IP address mismatch", f"{_BROKERS} is for another host name: correct kafka.bootstrap_servers"),
    ("certificate verify failed", f"no authority that is trusted signed {_BROKERS}: correct kafka.tls.ca"),
    ("wrong version number", "the listener speaks no TLS: correct kafka.security.protocol or the port"),
    ("alert", "the broker does not take the client's certificate: correct kafka.tls.certificate and kafka.tls.key"),
)


def refused(access: Access, error: KafkaError) -> str:
    """The sentence of a client that was kept out."""
    text = error.str()
    if error.code() == KafkaError._SSL:  # noqa: SLF001 - so it is named
        what = next((sentence for sign, sentence in _TLS if sign in text), "correct kafka.tls")
        return f"no line to the broker: {what} ({text})"
    return f"{_not_authenticated(access)} ({text})"


def _not_authenticated(access: Access) -> str:
    sasl = access.sasl
    if sasl.mechanism is None:
        return "the broker wants to know who the client is: set kafka.security.protocol and kafka.sasl"
    if sasl.mechanism == "OAUTHBEARER":
        return "no token, or one that the broker does not take: correct kafka.sasl.token_url, client_id, client_secret"
    return f"the broker does not take {sasl.username}'s password: correct kafka.sasl.username or kafka.sasl.password"


def forbidden(access: Access, operation: AclOperation, topic: str) -> str:
    """The sentence of a client that may not do an operation on a topic."""
    who, verb = access.sasl.username or "the client", operation.name.capitalize()
    return (
        f"{who} may not {verb.lower()} topic {topic}: allow it, as by `kafka-acls.sh --add "
        f"--allow-principal User:{access.sasl.username or 'NAME'} --operation {verb} --topic {topic}`"
    )
