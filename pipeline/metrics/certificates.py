"""The expiry of the configured certificates."""

from pathlib import Path
from typing import Final

from cryptography.x509 import load_pem_x509_certificates

from tidemark.pipeline.settings.model import KafkaSettings, MetricsSettings

_FIRST: Final = slice(1)


def certificate_ends(kafka: KafkaSettings, metrics: MetricsSettings) -> dict[str, int]:
    """Returns by use the end of each configured certificate, in ms since 1970, without files that cannot be read.

    A chain ends with its first certificate, which is that of the client or the endpoint. A file of authorities ends
    with its last: it contains old and new authorities while one replaces the other.
    """
    files = (
        ("kafka", kafka.tls.certificate, _FIRST),
        ("kafka_authorities", kafka.tls.ca, slice(None)),
        ("metrics", metrics.certificate, _FIRST),
    )
    ends = {use: _end(file, part) for use, file, part in files if file is not None}
    return {use: end for use, end in ends.items() if end is not None}


def _end(file: Path, part: slice) -> int | None:
    try:
        certificates = load_pem_x509_certificates(file.read_bytes())
    except (OSError, ValueError):
        return None  # who uses the file reports it
    return max(int(each.not_valid_after_utc.timestamp() * 1000) for each in certificates[part])
