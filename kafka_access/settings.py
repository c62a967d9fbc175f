"""The vocabulary, each word once. `kafka.` stands before every name, in the pipeline and in the producers."""

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

Raw = dict[str, SecretStr]
"""A client's own properties. Any of them may be a secret, so none is shown."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, hide_input_in_errors=True)


def _not_both(secret: SecretStr | None, file: Path | None, name: str) -> bool:
    """Whether there is one. Raises ValueError where there are two."""
    if secret is not None and file is not None:
        raise ValueError(f"set {name} or {name}_file, not both")
    return secret is not None or file is not None


class SecuritySettings(_Section):
    """Whether the line is encrypted, and whether the client says who it is."""

    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """That of the brokers' listener: `SSL` encrypts, `SASL_` has the client say who it is."""


class SaslSettings(_Section):
    """Who the client is, by a password or a token."""

    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] | None = None
    """How it is said; one that the listener has."""
    username: str | None = None
    """With PLAIN and SCRAM: the user."""
    password: SecretStr | None = None
    """The user's password."""
    password_file: Path | None = None
    """A file with the user's password, read again by each attempt to connect."""
    token_url: str | None = None
    """With OAUTHBEARER: where the token is had for the client's credentials."""
    client_id: str | None = None
    """With OAUTHBEARER: the client."""
    client_secret: SecretStr | None = None
    """The client's secret."""
    client_secret_file: Path | None = None
    """A file with the client's secret, read again by each attempt to connect."""
    scope: str | None = None
    """With OAUTHBEARER: what the token is to be good for."""

    @model_validator(mode="after")
    def _with_the_mechanism(self) -> Self:
        user = {
            "username": bool(self.username),
            "password or password_file": _not_both(self.password, self.password_file, "password"),
        }
        client = {
            "token_url": bool(self.token_url),
            "client_id": bool(self.client_id),
            "client_secret or client_secret_file": _not_both(
                self.client_secret, self.client_secret_file, "client_secret"
            ),
        }
        needed, useless = (client, user) if self.mechanism == "OAUTHBEARER" else (user, client)
        missing, idle = [name for name in needed if not needed[name]], [name for name in useless if useless[name]]
        if self.mechanism is not None and missing:
            raise ValueError(f"mechanism {self.mechanism} needs {', '.join(missing)}")
        if self.mechanism is not None and idle:
            raise ValueError(f"{', '.join(idle)} has no effect with mechanism {self.mechanism}")
        return self


class TlsSettings(_Section):
    """Whom the client trusts, and by which certificate it is known."""

    ca: Path | None = None
    """PEM file of the authorities that may have signed the brokers' certificates; by default those of the system."""
    certificate: Path | None = None
    """PEM file of the client's certificate, and those between it and the authority."""
    key: Path | None = None
    """PEM file of the client's key."""
    key_password: SecretStr | None = None
    """The password of the key's file."""
    key_password_file: Path | None = None
    """A file with the password of the key's file."""
    verify: Literal["full", "ca"] = "full"
    """`full`: the brokers' certificates and the host names in them; `ca`: the certificates only."""

    @model_validator(mode="after")
    def _certificate_with_its_key(self) -> Self:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("certificate and key belong together: set both or neither")
        if _not_both(self.key_password, self.key_password_file, "key_password") and self.key is None:
            raise ValueError("key_password has no effect without key")
        return self


class Access(_Section):
    """How a client gets in."""

    security: SecuritySettings = SecuritySettings()
    sasl: SaslSettings = SaslSettings()
    tls: TlsSettings = TlsSettings()
    librdkafka: Raw = Field(default_factory=dict)
    """Further properties of librdkafka, by its names. They win."""

    @model_validator(mode="after")
    def _with_the_protocol(self) -> Self:
        protocol = self.security.protocol
        if protocol.startswith("SASL_") and self.sasl.mechanism is None:
            raise ValueError(f"security.protocol {protocol} needs sasl.mechanism")
        if self.sasl.model_fields_set and not protocol.startswith("SASL_"):
            raise ValueError(f"sasl has no effect with security.protocol {protocol}: set it to SASL_SSL")
        if self.tls.model_fields_set and not protocol.endswith("SSL"):
            raise ValueError(f"tls has no effect with security.protocol {protocol}: set it to SSL or SASL_SSL")
        return self


class JavaAccess(Access):
    """How both clients get in: librdkafka and the Java one."""

    java: Raw = Field(default_factory=dict)
    """Further properties of the Java client, which reads the topic, by its names. They win."""
