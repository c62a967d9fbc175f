"""The TLS context of a server, which loads a renewed certificate without a restart."""

import ssl
from pathlib import Path

import structlog

_log = structlog.get_logger()


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Returns the context of a server. Raises OSError if the files cannot be used together."""
    pair = _Pair(certificate, key)
    context = pair.load()
    context.sni_callback = pair.renew  # called at each handshake, also if the client names no host
    return context


class _Pair:
    """A certificate and its key, loaded again when one of the files has changed."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Loads both. Raises OSError if they cannot be used."""
        self._certificate, self._key = certificate, key
        self._loaded, self._context = self._state(), self.load()

    def load(self) -> ssl.SSLContext:
        """Returns a new context. Raises OSError if the files cannot be used."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self._certificate, self._key)
        return context

    def renew(self, connection: ssl.SSLObject, _: str | None, __: ssl.SSLContext) -> None:
        """Serves `connection` with the newest certificate that could be used; logs once if new files cannot be used."""
        try:
            state = self._state()
            if state != self._loaded:
                self._loaded = state
                self._context = self.load()
                _log.info("certificate_loaded", file=str(self._certificate))
        except OSError as error:
            _log.warning("certificate_not_loaded", file=str(self._certificate), reason=str(error))
        connection.context = self._context

    def _state(self) -> tuple[tuple[int, int, int], ...]:
        status = [file.stat() for file in (self._certificate, self._key)]
        return tuple((each.st_ino, each.st_mtime_ns, each.st_size) for each in status)
