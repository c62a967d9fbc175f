"""Certificates for tests: an authority, and what it signs."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as PEM files."""

    certificate: Path
    key: Path

    @property
    def both(self) -> str:
        """The two in one text, as Kafka's key stores want them."""
        return self.key.read_text() + self.certificate.read_text()


class Authority:
    """A certificate authority; `file` has its certificate."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._name = folder, _named(name)
        self._key = generate_private_key(SECP256R1())
        builder = _builder(self._name, self._name, self._key, datetime.now(UTC) + DAY)
        certificate = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(certificate.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))

    def sign(self, name: str, valid: timedelta = DAY, password: str | None = None, host: str = "127.0.0.1") -> Pair:
        """A certificate for a name and a host; `valid` may be negative, and then it has expired."""
        key = generate_private_key(SECP256R1())
        builder = _builder(_named(name), self._name, key, datetime.now(UTC) + valid)
        hosts = x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))])
        certificate = builder.add_extension(hosts, critical=False).sign(self._key, hashes.SHA256())
        pair = Pair(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        pair.certificate.write_bytes(certificate.public_bytes(Encoding.PEM))
        hidden = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        pair.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden))
        return pair


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, until: datetime
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    begin = until - 10 * DAY
    return builder.serial_number(x509.random_serial_number()).not_valid_before(begin).not_valid_after(until)
