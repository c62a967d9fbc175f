"""A broker with a listener for each way in, certificates of its own, users, and an authorizer."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from demo.broker import Broker
from demo.children import free_port
from tests.support.brief_java import BRIEF_JVM
from tests.support.certificates import Authority, Pair
from tests.support.tokens import TokenServer
from tests.support.waiting import PATIENCE_S

MARK: Final = "hunter2bqkz"
PASSWORD: Final = f"pa\"ss\\w'ord = ${{x}}; {{y}} {MARK}"
"""With all that a grammar on the way could trip over, and a part that no grammar changes."""
_LISTENERS: Final = ("SASL", "MTLS", "EXPIRED", "LOST")
LOST: Final = "kafka.internal.invalid:9092"
"""The address that the broker advertises of its listener LOST."""
_LOGIN: Final = "org.apache.kafka.common.security"


@dataclass(frozen=True)
class SecuredBroker:
    """Its plain listener is for tests: who comes in there may do all."""

    broker: Broker
    ports: dict[str, int]
    authority: Authority
    stranger: Authority
    client: Pair
    expired_client: Pair
    strange_client: Pair
    tokens: TokenServer
    tokens_by_tls: TokenServer
    """Like `tokens`, with a certificate of `authority`."""

    def at(self, listener: str) -> str:
        """The address of a listener."""
        return f"127.0.0.1:{self.ports[listener]}"

    def allow(self, principal: str, operation: AclOperation, kind: ResourceType, name: str) -> None:
        """Adds a rule for `User:principal` and one name."""
        rule = AclBinding(
            kind, name, ResourcePatternType.LITERAL, f"User:{principal}", "*", operation, AclPermissionType.ALLOW
        )
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers})  # a variable keeps it open
        for done in admin.create_acls([rule]).values():
            done.result(PATIENCE_S)


@contextmanager
def secured_broker(folder: Path) -> Iterator[SecuredBroker]:
    """Users `ann` and `bob` with SCRAM, `ann` with PLAIN; a client's certificate for `CN=ann`; tokens for `ann`."""
    authority, stranger = Authority(folder / "ca", "authority"), Authority(folder / "ca", "stranger")
    ports, plain = {name: free_port() for name in _LISTENERS}, free_port()
    by_tls = TokenServer("ann", PASSWORD, authority.sign("tokens"))
    with TokenServer("ann", PASSWORD) as tokens, by_tls as tokens_by_tls:
        further = _properties(folder, authority, ports, plain, tokens)
        with Broker(folder / "broker", plain, further=further, options=[*tokens.allowed, BRIEF_JVM]) as broker:
            _add_users(broker.bootstrap_servers)
            clients = (
                authority.sign("ann", password=PASSWORD),
                authority.sign("ann-expired", valid=-timedelta(days=1)),
                stranger.sign("ann-strange"),
            )
            ports["PLAINTEXT"] = plain
            yield SecuredBroker(broker, ports, authority, stranger, *clients, tokens, tokens_by_tls)


def _properties(
    folder: Path, authority: Authority, ports: dict[str, int], port: int, tokens: TokenServer
) -> dict[str, str]:
    good, expired = folder / "server.pem", folder / "expired.pem"
    good.write_text(authority.sign("server").both)
    expired.write_text(authority.sign("expired", valid=-timedelta(days=1)).both)
    sasl = "listener.name.sasl"
    quoted = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
    own = [f"{name}://127.0.0.1:{port}" for name, port in ports.items()]
    advertised = [f"LOST://{LOST}" if address.startswith("LOST") else address for address in own]
    return {
        "listeners": ",".join(["{listeners}", *own]),
        "advertised.listeners": ",".join([f"PLAINTEXT://127.0.0.1:{port}", *advertised]),
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": (
            "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_SSL,MTLS:SSL,EXPIRED:SSL,LOST:PLAINTEXT"
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(good),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.file),
        "listener.name.expired.ssl.keystore.location": str(expired),
        "listener.name.mtls.ssl.client.auth": "required",
        f"{sasl}.sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN,OAUTHBEARER",
        f"{sasl}.scram-sha-512.sasl.jaas.config": f"{_LOGIN}.scram.ScramLoginModule required;",
        f"{sasl}.plain.sasl.jaas.config": f'{_LOGIN}.plain.PlainLoginModule required user_ann="{quoted}";',
        f"{sasl}.oauthbearer.sasl.jaas.config": f"{_LOGIN}.oauthbearer.OAuthBearerLoginModule required;",
        f"{sasl}.oauthbearer.sasl.server.callback.handler.class": (
            f"{_LOGIN}.oauthbearer.OAuthBearerValidatorCallbackHandler"
        ),
        f"{sasl}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": tokens.keys_url,
        f"{sasl}.oauthbearer.sasl.oauthbearer.expected.audience": tokens.audience,
    }


def _add_users(bootstrap_servers: str) -> None:
    credentials = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    users: list[UserScramCredentialAlteration] = [
        UserScramCredentialUpsertion(name, credentials, PASSWORD.encode()) for name in ("ann", "bob")
    ]
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})  # a variable keeps it open
    for done in admin.alter_user_scram_credentials(users).values():
        done.result(PATIENCE_S)
