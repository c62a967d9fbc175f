"""SCRAM-SHA-256: a client proves that it knows the password without sending it. Source: RFC 5802, RFC 7677."""

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import Final

MECHANISM: Final = "SCRAM-SHA-256"
_ITERATIONS: Final = 4096


class Scram:
    """A log-in with a password. Unknown users are refused with the same messages."""

    def __init__(self, password: str, *, known: bool) -> None:
        self._known = known
        self._salt = secrets.token_bytes(16)
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), self._salt, _ITERATIONS)
        self._client_key, self._server_key = _mac(salted, b"Client Key"), _mac(salted, b"Server Key")
        self._nonce = self._exchanged = ""

    def challenge(self, first: str) -> str | None:
        """Returns the answer to the client's first message; None if the message is invalid."""
        header, _, bare = first.partition(",,")
        nonce = _fields(bare).get("r")
        if header not in ("n", "y") or not nonce:  # no channel binding
            return None
        self._nonce = nonce + secrets.token_urlsafe(18)
        challenge = f"r={self._nonce},s={base64.b64encode(self._salt).decode()},i={_ITERATIONS}"
        self._exchanged = f"{bare},{challenge}"
        return challenge

    def final(self, last: str) -> str | None:
        """Returns the answer to the client's last message; None if the proof is wrong."""
        without, _, proof = last.rpartition(",p=")
        exchanged = f"{self._exchanged},{without}".encode()
        signature = _mac(hashlib.sha256(self._client_key).digest(), exchanged)
        expected = bytes(a ^ b for a, b in zip(self._client_key, signature, strict=True))
        proven = hmac.compare_digest(_decoded(proof), expected) and _fields(without).get("r") == self._nonce
        if not (proven and self._known):
            return None
        return f"v={base64.b64encode(_mac(self._server_key, exchanged)).decode()}"


def _mac(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, "sha256")


def _fields(text: str) -> dict[str, str]:
    return {name: value for name, _, value in (part.partition("=") for part in text.split(","))}


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
