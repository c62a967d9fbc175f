"""Why a broker does not let a client in, as one sentence that names what to change.

librdkafka gives a code and a text, and the text has OpenSSL's or the broker's reason.
"""

import re
import socket
import ssl
from collections.abc import Sequence
from typing import Final

from confluent_kafka.admin import AclOperation

from kafka_access.settings import Access, SaslSettings, TlsSettings

_UNVERIFIED: Final = "certificate verify failed"
_NOT_AUTHENTICATED: Final = "SASL authentication error"
_TOKENLESS: Final = "Failed to acquire SASL OAUTHBEARER"
_CLIENTS_CERTIFICATE: Final = re.compile("ssl/tls alert|alert (certificate required|unknown ca)")
_OF_LISTENER: Final = {
    "Unsupported SASL mechanism": "has other mechanisms: correct kafka.sasl.mechanism",
    "not valid in current SASL state": "does not ask who the client is: correct kafka.security.protocol",
    "connecting to a PLAINTEXT broker listener": "speaks no TLS there: correct kafka.security.protocol",
    "wrong version number": "speaks no TLS there: correct kafka.security.protocol",
}
_VERIFY_S: Final = 5
_EXPIRED: Final = 10
_NOT_YET_VALID: Final = 9
_OTHER_HOST: Final = (62, 64)
"""OpenSSL's numbers, X509_V_ERR_*."""


def is_refusal(text: str) -> bool:
    """Whether librdkafka tells by it that a broker does not let the client in."""
    signs = (_UNVERIFIED, _NOT_AUTHENTICATED, _TOKENLESS, *_OF_LISTENER)
    return any(sign in text for sign in signs) or bool(_CLIENTS_CERTIFICATE.search(text))


def is_final(text: str) -> bool:
    """Whether no other broker can be expected to let the client in."""
    return _TOKENLESS in text


def refused(access: Access, text: str) -> str:
    """The sentence on a client that was not let in."""
    address = re.search(r"://([^/]+)/", text)
    broker = f"the broker at {address[1]}" if address else "the broker"
    if _UNVERIFIED in text:
        return _unverified(access.tls, broker, address[1] if address else "")
    if _CLIENTS_CERTIFICATE.search(text):
        return _certificate_refused(access.tls, broker)
    if _NOT_AUTHENTICATED in text:
        return _not_authenticated(access.sasl, broker)
    if _TOKENLESS in text:
        return (
            f"{access.sasl.token_url} gives no token: "
            "correct kafka.sasl.token_url, kafka.sasl.client_id or kafka.sasl.client_secret"
        )
    return f"{broker} {next(_OF_LISTENER[sign] for sign in _OF_LISTENER if sign in text)}"


def _certificate_refused(tls: TlsSettings, broker: str) -> str:
    if tls.certificate is None:
        return f"{broker} wants a certificate of the client: set kafka.tls.certificate and kafka.tls.key"
    return (
        f"{broker} does not take the client's certificate, which may have expired or be signed by an authority that it "
        "does not know: correct kafka.tls.certificate and kafka.tls.key"
    )


def _not_authenticated(sasl: SaslSettings, broker: str) -> str:
    if sasl.mechanism == "OAUTHBEARER":
        return f"{broker} does not take the token: correct kafka.sasl.client_id or kafka.sasl.scope"
    return f"{broker} does not take the password of {sasl.username}: correct kafka.sasl.username or kafka.sasl.password"


def forbidden(access: Access, operation: AclOperation, topic: str) -> str:
    """The sentence on a client that may not do an operation on a topic."""
    who, verb = access.sasl.username or access.sasl.client_id, operation.name.capitalize()
    return (
        f"{who or 'the client'} may not {verb.lower()} topic {topic}: allow it, as by `kafka-acls.sh --add "
        f"--allow-principal User:{who or 'NAME'} --operation {verb} --topic {topic}`"
    )


def unusable(text: str) -> str:
    """The sentence on settings of which librdkafka makes no client."""
    named: Sequence[tuple[str, str]] = (
        ("ssl.key", "kafka.tls.key or kafka.tls.key_password"),
        ("ssl.certificate", "kafka.tls.certificate"),
        ("ssl.ca", "kafka.tls.ca"),
    )
    correct = next((f"correct {setting}" for sign, setting in named if sign in text), "correct kafka.librdkafka")
    return f"no Kafka client can be made of the settings ({text}): {correct}"


def _unverified(tls: TlsSettings, broker: str, address: str) -> str:
    """OpenSSL knows what is wrong with a certificate; librdkafka keeps it to itself, so it is asked again."""
    code = _verdict(tls, address)
    if code == _EXPIRED:
        return f"the certificate of {broker} has expired: have it renewed"
    if code == _NOT_YET_VALID:
        return f"the certificate of {broker} is not valid yet: correct the clock of this machine"
    if code in _OTHER_HOST:
        return (
            f"the certificate of {broker} is for another host: correct kafka.bootstrap_servers, "
            "or verify the certificate only, by kafka.tls.verify"
        )
    return f"no authority that is trusted signed the certificate of {broker}: correct kafka.tls.ca"


def _verdict(tls: TlsSettings, address: str) -> int | None:
    host, _, port = address.rpartition(":")
    context = ssl.create_default_context(cafile=tls.ca)
    context.check_hostname = tls.verify == "full"
    try:
        with (
            socket.create_connection((host.strip("[]"), int(port)), _VERIFY_S) as line,
            context.wrap_socket(line, server_hostname=host.strip("[]")),
        ):
            return None
    except ssl.SSLCertVerificationError as error:
        return error.verify_code
    except (OSError, ValueError):
        return None
