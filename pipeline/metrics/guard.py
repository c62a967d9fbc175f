"""Who may read the page: TLS, and a name with a password."""

import base64
import hmac
import ssl

from kafka_access.secrets import clear_text
from pipeline.errors import SetUpError
from pipeline.settings.model import MetricsSettings
from pipeline.settings.secrets import for_a_person


class Guard:
    """Lets in who knows the name and the password; everyone, where none is set."""

    def __init__(self, settings: MetricsSettings) -> None:
        """Raises SetUpError if the file of the password cannot be read."""
        with for_a_person():
            password = clear_text(settings.password, settings.password_file, "metrics.password")
        known = f"{settings.username}:{password}".encode()
        self._expected = None if password is None else b"Basic " + base64.b64encode(known)

    def admits(self, authorization: str | None) -> bool:
        """Whether a request with this header is let in; the answer takes as long for any wrong one."""
        return self._expected is None or hmac.compare_digest((authorization or "").encode(), self._expected)


def tls_of(settings: MetricsSettings) -> ssl.SSLContext | None:
    """What encrypts the page, if anything does. Raises SetUpError if certificate and key cannot be used."""
    if settings.certificate is None or settings.key is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(settings.certificate, settings.key)
    except OSError as error:
        raise SetUpError(
            f"metrics.certificate {settings.certificate} and metrics.key {settings.key} cannot be used: {error}"
        ) from error
    return context
