"""The settings of a Kafka client. Their names start with `kafka.`, in the pipeline and in the producers."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from tidemark.kafka_access.addresses import address

Raw = dict[str, SecretStr]
"""A client's own properties. They are never displayed, because any of them may be a secret."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, hide_input_in_errors=True)


def _is_set(secret: SecretStr | None, file: Path | None, name: str) -> bool:
    """Returns whether `secret` or `file` is set. Raises ValueError if both are."""
    if secret is not None and file is not None:
        raise ValueError(f"set {name} or {name}_file, not both")
    return secret is not None or file is not None


class SecuritySettings(_Section):
    """Encryption of the connection, and authentication of the client."""

    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """Protocol of the brokers' listener: `SSL` encrypts, `SASL_` authenticates the client."""


class SaslSettings(_Section):
    """Credentials of the client: a password or a token."""

    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] | None = None
    """SASL mechanism supported by the listener."""
    username: str | None = None
    """User name for PLAIN and SCRAM."""
    password: SecretStr | None = None
    """Password of the user."""
    password_file: Path | None = None
    """File with the password of the user, read at each attempt to connect."""
    token_url: Annotated[str, address("set kafka.sasl.client_id and client_secret_file")] | None = None
    """URL that issues tokens for OAUTHBEARER."""
    client_id: str | None = None
    """Client id for OAUTHBEARER."""
    client_secret: SecretStr | None = None
    """Client secret for OAUTHBEARER."""
    client_secret_file: Path | None = None
    """File with the client secret, read at each attempt to connect."""
    scope: str | None = None
    """Scope of the token for OAUTHBEARER."""

    @model_validator(mode="after")
    def _check_mechanism(self) -> Self:
        user = {
            "username": bool(self.username),
            "password or password_file": _is_set(self.password, self.password_file, "password"),
        }
        client = {
            "token_url": bool(self.token_url),
            "client_id": bool(self.client_id),
            "client_secret or client_secret_file": _is_set(
                self.client_secret, self.client_secret_file, "client_secret"
            ),
        }
        required, unused = (client, user) if self.mechanism == "OAUTHBEARER" else (user, client)
        missing = [name for name, is_set in required.items() if not is_set]
        useless = [name for name, is_set in unused.items() if is_set]
        if self.mechanism is not None and missing:
            raise ValueError(f"mechanism {self.mechanism} needs {', '.join(missing)}")
        if self.mechanism is not None and useless:
            raise ValueError(f"{', '.join(useless)} has no effect with mechanism {self.mechanism}")
        return self


class TlsSettings(_Section):
    """Trusted authorities, and the certificate of the client."""

    ca: Path | None = None
    """PEM file with the authorities that sign the brokers' certificates; default: the authorities of the system."""
    certificate: Path | None = None
    """PEM file with the client's certificate and its intermediate certificates."""
    key: Path | None = None
    """PEM file with the client's key."""
    key_password: SecretStr | None = None
    """Password of the key file."""
    key_password_file: Path | None = None
    """File with the password of the key file."""
    verify: Literal["full", "ca"] = "full"
    """`full`: verify the brokers' certificates and their host names; `ca`: verify the certificates only."""

    @model_validator(mode="after")
    def _check_key(self) -> Self:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("certificate and key belong together: set both or neither")
        if _is_set(self.key_password, self.key_password_file, "key_password") and self.key is None:
            raise ValueError("key_password has no effect without key")
        return self


class Access(_Section):
    """Protocol, credentials and certificates of a librdkafka client."""

    security: SecuritySettings = SecuritySettings()
    sasl: SaslSettings = SaslSettings()
    tls: TlsSettings = TlsSettings()
    librdkafka: Raw = Field(default_factory=dict)
    """Further properties of librdkafka by name. They take precedence."""

    @model_validator(mode="after")
    def _check_protocol(self) -> Self:
        protocol = self.security.protocol
        if protocol.startswith("SASL_") and self.sasl.mechanism is None:
            raise ValueError(f"security.protocol {protocol} needs sasl.mechanism")
        if self.sasl.model_fields_set and not protocol.startswith("SASL_"):
            raise ValueError(f"sasl has no effect with security.protocol {protocol}: set it to SASL_SSL")
        if self.tls.model_fields_set and not protocol.endswith("SSL"):
            raise ValueError(f"tls has no effect with security.protocol {protocol}: set it to SSL or SASL_SSL")
        return self


class JavaAccess(Access):
    """Protocol, credentials and certificates of both clients: librdkafka and Java."""

    java: Raw = Field(default_factory=dict)
    """Further properties of the Java client, which reads the topic, by name. They take precedence."""
