"""Explains why a broker refuses a client, in one sentence that names the setting to change.

librdkafka returns a code and a text; the text contains the reason of OpenSSL or of the broker.
"""

import re
import socket
import ssl
from collections.abc import Sequence
from typing import Final

from confluent_kafka.admin import AclOperation

from tidemark.kafka_access.settings import Access, SaslSettings, TlsSettings

_UNVERIFIED: Final = "certificate verify failed"
_NOT_AUTHENTICATED: Final = "SASL authentication error"
_TOKENLESS: Final = "Failed to acquire SASL OAUTHBEARER"
_CLIENTS_CERTIFICATE: Final = re.compile("ssl/tls alert|alert (certificate required|unknown ca)")
_LISTENER_REFUSALS: Final = {
    "Unsupported SASL mechanism": "has other mechanisms: correct kafka.sasl.mechanism",
    "not valid in current SASL state": "does not authenticate clients: correct kafka.security.protocol",
    "connecting to a PLAINTEXT broker listener": "does not use TLS: correct kafka.security.protocol",
    "wrong version number": "does not use TLS: correct kafka.security.protocol",
}
_VERIFY_S: Final = 5
_EXPIRED: Final = 10
_NOT_YET_VALID: Final = 9
_HOST_MISMATCH: Final = (62, 64)
"""Error codes of OpenSSL, X509_V_ERR_*."""


def is_refusal(text: str) -> bool:
    """Returns whether the error text `text` of librdkafka reports that a broker refuses the client."""
    signs = (_UNVERIFIED, _NOT_AUTHENTICATED, _TOKENLESS, *_LISTENER_REFUSALS)
    return any(sign in text for sign in signs) or bool(_CLIENTS_CERTIFICATE.search(text))


def is_final(text: str) -> bool:
    """Returns whether, after the error text `text`, no other broker can be expected to accept the client."""
    return _TOKENLESS in text


def refusal_sentence(access: Access, text: str) -> str:
    """Returns the sentence for a refused client, from the error text `text` of librdkafka."""
    address = re.search(r"://([^/]+)/", text)
    broker = f"the broker at {address[1]}" if address else "the broker"
    if _UNVERIFIED in text:
        return _unverified(access.tls, broker, address[1] if address else "")
    if _CLIENTS_CERTIFICATE.search(text):
        return _certificate_refused(access.tls, broker)
    if _NOT_AUTHENTICATED in text:
        return _not_authenticated(access.sasl, broker)
    if _TOKENLESS in text:
        return _tokenless(access.sasl.token_url, text.partition("token: ")[2])
    return f"{broker} {next(reason for sign, reason in _LISTENER_REFUSALS.items() if sign in text)}"


def _tokenless(url: str | None, cause: str) -> str:
    """Returns the sentence for a token server that issued no token; `cause` is curl's error or the server's answer."""
    if re.search("trust anchors|certificate|SSL", cause):
        return (
            f"the certificate of {url} is not trusted ({cause}): add its authority to those of the system, or set "
            "https.ca.location in kafka.librdkafka and the truststore of Java's client (docs/security.md)"
        )
    if re.search("(?i)could not|failed to connect|timed out", cause):
        return f"{url} cannot be reached ({cause}): correct kafka.sasl.token_url"
    return f"{url} issues no token: correct kafka.sasl.token_url, kafka.sasl.client_id or kafka.sasl.client_secret"


def advertised_sentence(text: str) -> str | None:
    """Returns the sentence for a broker that cannot be reached at the address that it advertises, else None.

    `text` is librdkafka's error, in which only an advertised address has the id of a broker.
    """
    match = re.match(r"(?:\w+://)?([^/\s]+:\d+)/\d+: (?:Connect to [^ ]+ failed: )?(.*?)(?: \(after |$)", text)
    if match is None:
        return None
    return (
        f"a broker advertises the address {match[1]}, which this machine does not reach ({match[2]}): correct "
        "advertised.listeners of that broker, or make the name known to this machine"
    )


def _certificate_refused(tls: TlsSettings, broker: str) -> str:
    if tls.certificate is None:
        return f"{broker} requires a client certificate: set kafka.tls.certificate and kafka.tls.key"
    return (
        f"{broker} rejects the client's certificate, which may have expired or be signed by an authority that it "
        "does not trust: correct kafka.tls.certificate and kafka.tls.key"
    )


def _not_authenticated(sasl: SaslSettings, broker: str) -> str:
    if sasl.mechanism == "OAUTHBEARER":
        return f"{broker} rejects the token: correct kafka.sasl.client_id or kafka.sasl.scope"
    return f"{broker} rejects the password of {sasl.username}: correct kafka.sasl.username or kafka.sasl.password"


def forbidden_sentence(access: Access, operation: AclOperation, topic: str) -> str:
    """Returns the sentence for a client that lacks the right to do `operation` on `topic`."""
    principal, verb = access.sasl.username or access.sasl.client_id, operation.name.capitalize()
    return (
        f"{principal or 'the client'} may not {verb.lower()} topic {topic}: allow it, for example by "
        f"`kafka-acls.sh --add --allow-principal User:{principal or 'NAME'} --operation {verb} --topic {topic}`"
    )


def unusable_sentence(text: str) -> str:
    """Returns the sentence for settings that librdkafka rejects with the error text `text`."""
    settings: Sequence[tuple[str, str]] = (
        ("ssl.key", "kafka.tls.key or kafka.tls.key_password"),
        ("ssl.certificate", "kafka.tls.certificate"),
        ("ssl.ca", "kafka.tls.ca"),
    )
    correct = next((f"correct {setting}" for sign, setting in settings if sign in text), "correct kafka.librdkafka")
    return f"the settings of the Kafka client are not valid ({text}): {correct}"


def _unverified(tls: TlsSettings, broker: str, address: str) -> str:
    """Returns the sentence for an invalid certificate. Connects again, because librdkafka hides OpenSSL's reason."""
    code = _verify_code(tls, address)
    if code == _EXPIRED:
        return f"the certificate of {broker} has expired: renew it"
    if code == _NOT_YET_VALID:
        return f"the certificate of {broker} is not valid yet: correct the clock of this machine"
    if code in _HOST_MISMATCH:
        return (
            f"the certificate of {broker} is for another host: correct kafka.bootstrap_servers, "
            "or verify the certificate only, by kafka.tls.verify"
        )
    return f"no trusted authority signed the certificate of {broker}: correct kafka.tls.ca"


def _verify_code(tls: TlsSettings, address: str) -> int | None:
    """Returns OpenSSL's error code of the certificate of the broker at `address`, None if there is no error."""
    host, _, port = address.rpartition(":")
    context = ssl.create_default_context(cafile=tls.ca)
    context.check_hostname = tls.verify == "full"
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # from Python 3.13 on a default; librdkafka does not require it
    try:
        with (
            socket.create_connection((host.strip("[]"), int(port)), _VERIFY_S) as connection,
            context.wrap_socket(connection, server_hostname=host.strip("[]")),
        ):
            return None
    except ssl.SSLCertVerificationError as error:
        return error.verify_code
    except (OSError, ValueError):
        return None
