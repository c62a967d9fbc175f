"""When certificates end."""

from datetime import timedelta
from pathlib import Path
from time import time

import pytest

from tests.support.certificates import Authority
from tidemark.kafka_access.settings import TlsSettings
from tidemark.pipeline.metrics.certificates import certificate_ends
from tidemark.pipeline.settings.model import KafkaSettings, MetricsSettings

HOUR = timedelta(hours=1)


def kafka(**tls: Path) -> KafkaSettings:
    return KafkaSettings().model_copy(update={"tls": TlsSettings().model_copy(update=tls)})


def test_each_configured_certificate_has_its_end(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "authority")
    client, page = authority.sign("client", 5 * HOUR), authority.sign("page", -HOUR)
    chain = tmp_path / "chain.pem"
    chain.write_text(client.certificate.read_text() + authority.file.read_text())
    metrics = MetricsSettings(certificate=page.certificate, key=page.key)
    ends = certificate_ends(kafka(ca=authority.file, certificate=chain), metrics)
    now_ms = time() * 1000
    assert {use: round((end - now_ms) / 3_600_000) for use, end in ends.items()} == {
        "kafka": 5, "kafka_authorities": 24, "metrics": -1,
    }  # fmt: skip


@pytest.mark.parametrize("content", ["", "no certificate", None])
def test_a_file_that_cannot_be_read_has_no_end(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "client.pem"
    if content is not None:
        file.write_text(content)
    assert certificate_ends(kafka(certificate=file), MetricsSettings()) == {}
