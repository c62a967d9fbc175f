"""One vocabulary configures two clients."""

from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from pydantic import BaseModel, ValidationError

from tests.support.certificates import Authority
from tidemark.kafka_access.errors import AccessError
from tidemark.kafka_access.java import java_options
from tidemark.kafka_access.librdkafka import librdkafka_options
from tidemark.kafka_access.settings import JavaAccess

MARK = "hunter2bqkz"
MODULES = "org.apache.kafka.common.security"


def access(protocol: str, sasl: dict[str, Any] | None = None, tls: dict[str, Any] | None = None) -> JavaAccess:
    """As a settings file has it."""
    given = {"security": {"protocol": protocol}, "sasl": sasl, "tls": tls}
    return JavaAccess.model_validate({name: value for name, value in given.items() if value is not None})


def by_password(**sasl: Any) -> JavaAccess:
    return access("SASL_PLAINTEXT", {"mechanism": "SCRAM-SHA-512", "username": "ann", "password": MARK} | sasl)


def by_token(**sasl: Any) -> JavaAccess:
    token = {"token_url": "https://login.example/token", "client_id": "ann", "client_secret": MARK}
    return access("SASL_SSL", {"mechanism": "OAUTHBEARER"} | token | sasl)


def test_without_settings_nothing_is_secured() -> None:
    plain = {"security.protocol": "PLAINTEXT"}
    assert (java_options(JavaAccess()), librdkafka_options(JavaAccess())) == (plain, plain)


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [
        ("PLAIN", "plain.PlainLoginModule"),
        ("SCRAM-SHA-256", "scram.ScramLoginModule"),
        ("SCRAM-SHA-512", "scram.ScramLoginModule"),
    ],
)
def test_a_password_is_a_login_module_for_java_and_a_property_for_librdkafka(mechanism: str, module: str) -> None:
    way = by_password(mechanism=mechanism)
    login = f'{MODULES}.{module} required username="ann" password="{MARK}";'
    common = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism}
    assert java_options(way) == {**common, "sasl.jaas.config": login}
    assert librdkafka_options(way) == {**common, "sasl.username": "ann", "sasl.password": MARK}


def test_a_login_module_takes_what_its_grammar_would_trip_over() -> None:
    login = java_options(by_password(password='a"b\\c;\n'))["sasl.jaas.config"]
    assert login.endswith('password="a\\"b\\\\c;\\n";')


def test_a_token_is_fetched_for_the_clients_credentials() -> None:
    way = by_token(scope="kafka")
    java, librdkafka = java_options(way), librdkafka_options(way)
    assert java["sasl.jaas.config"] == (
        f'{MODULES}.oauthbearer.OAuthBearerLoginModule required clientId="ann" clientSecret="{MARK}" scope="kafka";'
    )
    assert java["sasl.oauthbearer.token.endpoint.url"] == "https://login.example/token"
    assert librdkafka["sasl.oauthbearer.method"] == "oidc"
    assert librdkafka["sasl.oauthbearer.client.secret"] == MARK
    assert "sasl.oauthbearer.scope" not in librdkafka_options(by_token())


def test_a_secret_in_a_file_is_read_each_time_without_its_last_line_end(tmp_path: Path) -> None:
    file = tmp_path / "password"
    way = by_password(password=None, password_file=file)
    for secret in (MARK, "renewed"):
        file.write_text(f"{secret}\n")
        assert librdkafka_options(way)["sasl.password"] == secret


@pytest.mark.parametrize(("content", "words"), [(None, "cannot be read: No such file"), ("\n", "is empty")])
def test_a_file_without_a_secret_is_reported_with_its_setting(tmp_path: Path, content: str | None, words: str) -> None:
    file = tmp_path / "password"
    if content is not None:
        file.write_text(content)
    way = by_password(password=None, password_file=file)
    for options in (java_options, librdkafka_options):
        with pytest.raises(AccessError, match=rf"^kafka\.sasl\.password_file {file} {words}"):
            options(way)


def test_java_is_handed_what_the_files_have_and_librdkafka_reads_them_itself(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "authority")
    pair = authority.sign("ann", password=MARK)
    files = {"ca": authority.file, "certificate": pair.certificate, "key": pair.key}
    way = access("SSL", tls={**files, "key_password": MARK})
    options = java_options(way)
    key = load_pem_private_key(pair.key.read_bytes(), MARK.encode())
    opened = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    assert options.pop("ssl.keystore.key") == opened.decode()
    assert options == {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": authority.file.read_text(),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": pair.certificate.read_text(),
    }
    assert librdkafka_options(way) == {
        "security.protocol": "SSL",
        "ssl.endpoint.identification.algorithm": "https",
        "ssl.ca.location": str(files["ca"]),
        "ssl.certificate.location": str(files["certificate"]),
        "ssl.key.location": str(files["key"]),
        "ssl.key.password": MARK,
    }


def test_host_names_may_be_left_unverified_but_certificates_never() -> None:
    way = access("SSL", tls={"verify": "ca"})
    assert java_options(way)["ssl.endpoint.identification.algorithm"] == ""
    assert librdkafka_options(way)["ssl.endpoint.identification.algorithm"] == "none"


def test_java_gets_a_key_in_its_own_form_whatever_the_file_has(tmp_path: Path) -> None:
    key = generate_private_key(SECP256R1())
    old = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    new = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file = tmp_path / "key"
    file.write_bytes(old)
    assert java_options(access("SSL", tls={"certificate": file, "key": file}))["ssl.keystore.key"] == new.decode()


@pytest.mark.parametrize(
    ("password", "words"), [(None, "[Pp]assword was not given"), ("wrong", "Check kafka.tls.key_password")]
)
def test_an_unreadable_key_is_reported_with_its_setting(tmp_path: Path, password: str | None, words: str) -> None:
    pair = Authority(tmp_path, "authority").sign("ann", password=MARK)
    tls = {"certificate": pair.certificate, "key": pair.key} | ({"key_password": password} if password else {})
    with pytest.raises(AccessError, match=rf"^kafka\.tls\.key {pair.key} cannot be read: .*{words}"):
        java_options(access("SSL", tls=tls))


def test_a_clients_own_properties_win_and_reach_no_other_client() -> None:
    way = JavaAccess.model_validate({"java": {"security.protocol": "SSL"}, "librdkafka": {"debug": "security"}})
    assert java_options(way) == {"security.protocol": "SSL"}
    assert librdkafka_options(way) == {"security.protocol": "PLAINTEXT", "debug": "security"}


@pytest.mark.parametrize(
    ("protocol", "sasl", "tls", "words"),
    [
        ("SASL_SSL", None, None, "security.protocol SASL_SSL needs sasl.mechanism"),
        ("SSL", {"mechanism": "PLAIN", "username": "ann", "password": MARK}, None, "sasl has no effect"),
        ("SASL_PLAINTEXT", None, {"verify": "ca"}, "needs sasl.mechanism"),
        ("PLAINTEXT", None, {"verify": "ca"}, "tls has no effect"),
        ("SASL_SSL", {"mechanism": "PLAIN"}, None, "mechanism PLAIN needs username, password or password_file"),
        ("SASL_SSL", {"mechanism": "OAUTHBEARER", "client_id": "ann"}, None, "needs token_url, client_secret or"),
        (
            "SASL_SSL",
            {"mechanism": "PLAIN", "username": "ann", "password": MARK, "client_id": "ann"},
            None,
            "client_id has no effect with mechanism PLAIN",
        ),
        (
            "SASL_SSL",
            {"mechanism": "PLAIN", "username": "ann", "password": MARK, "password_file": "there"},
            None,
            "set password or password_file, not both",
        ),
        ("SSL", None, {"key": "there"}, "certificate and key belong together"),
        ("SSL", None, {"key_password": MARK}, "key_password has no effect without key"),
    ],
)
def test_contradictory_settings_of_access_are_refused(
    protocol: str, sasl: dict[str, Any] | None, tls: dict[str, Any] | None, words: str
) -> None:
    with pytest.raises(ValidationError, match=words) as refused:
        access(protocol, sasl, tls)
    assert MARK not in str(refused.value)


def test_no_secret_is_in_what_is_printed_of_the_settings() -> None:
    raw = JavaAccess.model_validate({"java": {"ssl.truststore.password": MARK}, "librdkafka": {"sasl.password": MARK}})
    for way in (
        by_password(),
        by_token(),
        access("SSL", tls={"key": "a", "certificate": "b", "key_password": MARK}),
        raw,
    ):
        assert MARK not in f"{way!r} {way} {way.model_dump()} {way.model_dump_json()}"


def test_every_word_of_the_vocabulary_is_on_its_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
    for section, field in JavaAccess.model_fields.items():
        inner = field.annotation
        names = inner.model_fields if isinstance(inner, type) and issubclass(inner, BaseModel) else ()
        for name in [f"kafka.{section}.{word}" for word in names] or [f"kafka.{section}"]:
            assert f"`{name}`" in page, name
