"""The settings as properties of librdkafka, which reads the files itself."""

import ssl
from pathlib import Path

from tidemark.kafka_access.secrets import clear_text, file_text
from tidemark.kafka_access.settings import Access, SaslSettings, TlsSettings


def librdkafka_options(access: Access) -> dict[str, str]:
    """Returns the properties by name, with secrets in clear. Raises AccessError if a file cannot be read."""
    return {
        "security.protocol": access.security.protocol,
        **_sasl(access.sasl),
        **(_tls(access.tls) if access.security.protocol.endswith("SSL") else {}),
        **{name: value.get_secret_value() for name, value in access.librdkafka.items()},
    }


def _sasl(sasl: SaslSettings) -> dict[str, str]:
    if sasl.mechanism == "OAUTHBEARER":
        # librdkafka's own default exists on Red Hat only.
        authorities = ssl.get_default_verify_paths()
        options = {
            "sasl.mechanism": sasl.mechanism,
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": sasl.token_url,
            "sasl.oauthbearer.client.id": sasl.client_id,
            "sasl.oauthbearer.client.secret": clear_text(
                sasl.client_secret, sasl.client_secret_file, "kafka.sasl.client_secret"
            ),
            "sasl.oauthbearer.scope": sasl.scope,
            "https.ca.location": authorities.cafile or authorities.capath,
        }
    else:
        options = {
            "sasl.mechanism": sasl.mechanism,
            "sasl.username": sasl.username,
            "sasl.password": clear_text(sasl.password, sasl.password_file, "kafka.sasl.password"),
        }
    return {name: value for name, value in options.items() if value is not None}


def _tls(tls: TlsSettings) -> dict[str, str]:
    options = {
        "ssl.endpoint.identification.algorithm": "https" if tls.verify == "full" else "none",
        "ssl.ca.location": _checked_path(tls.ca, "kafka.tls.ca"),
        "ssl.certificate.location": _checked_path(tls.certificate, "kafka.tls.certificate"),
        "ssl.key.location": _checked_path(tls.key, "kafka.tls.key"),
        "ssl.key.password": clear_text(tls.key_password, tls.key_password_file, "kafka.tls.key_password"),
    }
    return {name: value for name, value in options.items() if value is not None}


def _checked_path(file: Path | None, name: str) -> str | None:
    """Returns the path of a readable file: the error of librdkafka names neither the setting nor the reason."""
    if file is not None:
        file_text(file, name)
    return None if file is None else str(file)
