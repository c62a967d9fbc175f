"""Access logs of one JSON object a line: nginx's `escape=json`, Caddy, Traefik and others."""

import json
from collections.abc import Mapping
from typing import Any, Final

from tidemark.producers.access_log.request import Request
from tidemark.producers.access_log.request_fields import HEADERS, LineParser, missing, request_of

FIELDS: Final = {
    "address": "remote_addr",
    "time": "time_iso8601",
    "request": "request",
    "method": "request_method",
    "uri": "request_uri",
    "status": "status",
    "referrer": "http_referer",
    "agent": "http_user_agent",
    "scheme": "scheme",
    "host": "host",
    "purpose": "http_sec_purpose",
}
"""Field names by meaning: nginx's variables."""

CADDY: Final = {
    "address": "request.client_ip",
    "time": "ts",
    "method": "request.method",
    "uri": "request.uri",
    "referrer": "request.headers.Referer",
    "agent": "request.headers.User-Agent",
    "host": "request.host",
    "purpose": "request.headers.Sec-Purpose",
}
"""Caddy's names, where they differ from `FIELDS`."""

GOOGLE: Final = {
    "address": "httpRequest.remoteIp",
    "time": "timestamp",
    "method": "httpRequest.requestMethod",
    "uri": "httpRequest.requestUrl",
    "status": "httpRequest.status",
    "referrer": "httpRequest.referer",
    "agent": "httpRequest.userAgent",
}
"""The names of Google's load balancers in Cloud Logging."""

TRAEFIK: Final = {
    "address": "ClientHost",
    "time": "StartUTC",
    "method": "RequestMethod",
    "uri": "RequestPath",
    "status": "DownstreamStatus",
    "referrer": "request_Referer",
    "agent": "request_User-Agent",
    "scheme": "RequestScheme",
    "host": "RequestHost",
}
"""Traefik's names."""

_ABSENT: Final = object()


def json_format(names: Mapping[str, str]) -> LineParser:
    """Returns a parser for one JSON object per line; `names` overrides field names of `FIELDS`.

    A name is a key or, with dots, a path of keys, such as `request.headers.User-Agent`.
    """
    fields = {**FIELDS, **names}
    described = {**fields, "request": f"{fields['request']} (or {fields['method']} and {fields['uri']})"}

    def parse(line: str) -> Request:
        # Numbers stay text, so that times are not rounded.
        entry = json.loads(line, parse_float=str)
        if not isinstance(entry, dict):
            raise ValueError("not a JSON object")  # noqa: TRY004 - the line's error, not the caller's
        texts = {meaning: _field_text(entry, name, meaning) for meaning, name in fields.items()}
        if absent := missing(lambda meaning: texts[meaning] is not None):
            raise ValueError(f"without {', '.join(described[meaning] for meaning in absent)}")
        return request_of(texts)

    return parse


def _field_text(entry: Mapping[str, Any], name: str, meaning: str) -> str | None:
    """Returns the text of a field: None if the log line lacks the field, "" if the request lacked it."""
    value = _value(entry, name, "" if meaning in HEADERS else _ABSENT)
    if isinstance(value, list):
        value = value[0] if value else ""
    if value is _ABSENT or isinstance(value, dict):
        return None
    # Half of a surrogate pair is valid JSON, but not encodable text.
    return "" if value in (None, "-") else str(value).encode("utf-8", "replace").decode()


def _value(entry: Mapping[str, Any], name: str, of_absent_header: object) -> object:
    """Returns the value at the key or path `name`; `of_absent_header` if only the last key of the path is absent."""
    *path, key = [name] if name in entry else name.split(".")
    for part in path:
        child = entry.get(part)
        if not isinstance(child, dict):
            return _ABSENT
        entry = child
    return entry.get(key, of_absent_header if path else _ABSENT)
