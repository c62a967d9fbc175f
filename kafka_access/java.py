"""The settings as properties of the Java client. They contain the files' texts, because executors cannot read files."""

from pathlib import Path
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from tidemark.kafka_access.errors import AccessError
from tidemark.kafka_access.secrets import clear_text, file_text
from tidemark.kafka_access.settings import JavaAccess, SaslSettings, TlsSettings

_COMMON: Final = "org.apache.kafka.common.security"
_PLAIN: Final = f"{_COMMON}.plain.PlainLoginModule"
_SCRAM: Final = f"{_COMMON}.scram.ScramLoginModule"
_OAUTHBEARER: Final = f"{_COMMON}.oauthbearer.OAuthBearerLoginModule"
_FETCHES_TOKENS: Final = f"{_COMMON}.oauthbearer.OAuthBearerLoginCallbackHandler"


def java_options(access: JavaAccess) -> dict[str, str]:
    """Returns the properties by name, with secrets in clear. Raises AccessError if a file is missing or wrong."""
    return {
        "security.protocol": access.security.protocol,
        **_sasl(access.sasl),
        **(_tls(access.tls) if access.security.protocol.endswith("SSL") else {}),
        **{name: value.get_secret_value() for name, value in access.java.items()},
    }


def _sasl(sasl: SaslSettings) -> dict[str, str]:
    if sasl.mechanism is None:
        return {}
    if sasl.mechanism == "OAUTHBEARER":
        secret = clear_text(sasl.client_secret, sasl.client_secret_file, "kafka.sasl.client_secret")
        login = _login(_OAUTHBEARER, clientId=sasl.client_id, clientSecret=secret, scope=sasl.scope)
        token = {
            "sasl.oauthbearer.token.endpoint.url": sasl.token_url or "",
            "sasl.login.callback.handler.class": _FETCHES_TOKENS,
        }
        return {"sasl.mechanism": sasl.mechanism, "sasl.jaas.config": login, **token}
    password = clear_text(sasl.password, sasl.password_file, "kafka.sasl.password")
    module = _PLAIN if sasl.mechanism == "PLAIN" else _SCRAM
    login = _login(module, username=sasl.username, password=password)
    return {"sasl.mechanism": sasl.mechanism, "sasl.jaas.config": login}


def _login(module: str, **options: str | None) -> str:
    """Returns an entry of a JAAS file. Source of its grammar: Kafka, `JaasConfig`."""
    given = " ".join(f"{name}={_quoted(value)}" for name, value in options.items() if value is not None)
    return f"{module} required {given};"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _tls(tls: TlsSettings) -> dict[str, str]:
    options = {} if tls.verify == "full" else {"ssl.endpoint.identification.algorithm": ""}
    if tls.ca is not None:
        options |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": file_text(tls.ca, "kafka.tls.ca")}
    if tls.certificate is None or tls.key is None:
        return options
    password = clear_text(tls.key_password, tls.key_password_file, "kafka.tls.key_password")
    return options | {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": file_text(tls.certificate, "kafka.tls.certificate"),
        "ssl.keystore.key": _key(tls.key, password),
    }


def _key(file: Path, password: str | None) -> str:
    """Returns the key in PKCS #8, unencrypted: Java 17 reads no other form and no key that OpenSSL 3 encrypted."""
    try:
        key = load_pem_private_key(file_text(file, "kafka.tls.key").encode(), password.encode() if password else None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        # For one wrong password in 256 the decrypted bytes look whole, and the error is that they are no key.
        hint = " Check kafka.tls.key_password, too." if password else ""
        raise AccessError(f"kafka.tls.key {file} cannot be read: {error}.{hint}") from error
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
