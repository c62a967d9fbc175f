"""A token server for tests: client credentials in, a signed token out, and the key by which a broker verifies it."""

import base64
import json
import ssl
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any, Self

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from tests.support.certificates import Pair


class TokenServer:
    """Knows one client, which is the principal of its tokens too."""

    audience = "kafka"

    def __init__(self, client_id: str, client_secret: str, certificate: Pair | None = None) -> None:
        self._client_id = client_id
        self._expected = f"Basic {_plain(f'{client_id}:{client_secret}'.encode())}"
        self._key = generate_private_key(65537, 2048)
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                known = self.headers["Authorization"] == outer._expected
                self.answer(outer._token() if known else {"error": "invalid_client"}, 200 if known else 401)

            def do_GET(self) -> None:
                self.answer(outer._keys(), 200)

            def answer(self, content: dict[str, Any], status: int) -> None:
                body = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if certificate is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate.certificate, certificate.key)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        address = f"http{'' if certificate is None else 's'}://127.0.0.1:{self._server.server_address[1]}"
        self.token_url, self.keys_url = f"{address}/token", f"{address}/keys"

    @property
    def allowed(self) -> tuple[str, ...]:
        """A broker's Java needs this property, or it fetches no keys."""
        return (f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self.keys_url}",)

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _token(self) -> dict[str, Any]:
        now = int(time.time())
        claims = {"sub": self._client_id, "aud": self.audience, "scope": "kafka", "iat": now, "exp": now + 3600}
        parts = [{"alg": "RS256", "typ": "JWT", "kid": "one"}, claims]
        signed = ".".join(_url_safe(json.dumps(part).encode()) for part in parts)
        signature = self._key.sign(signed.encode(), PKCS1v15(), hashes.SHA256())
        return {"access_token": f"{signed}.{_url_safe(signature)}", "token_type": "Bearer", "expires_in": 3600}

    def _keys(self) -> dict[str, Any]:
        numbers = self._key.public_key().public_numbers()
        n, e = (_url_safe(value.to_bytes((value.bit_length() + 7) // 8)) for value in (numbers.n, numbers.e))
        return {"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "one", "n": n, "e": e}]}


def _plain(octets: bytes) -> str:
    return base64.b64encode(octets).decode()


def _url_safe(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()
