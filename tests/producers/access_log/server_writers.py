"""Writes lines as servers do: nginx's `ngx_http_log_module`, Apache's `mod_log_config` and Caddy's JSON encoder.

Written from the servers' sources, and independent of the code that reads lines.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class Served:
    """A request as a server knows it. None: the client did not send the header."""

    address: str
    at: datetime
    method: str
    uri: str
    status: int
    user: str | None
    referrer: str | None
    agent: str | None
    forwarded: str
    host: str

    @property
    def line(self) -> str:
        """The request line."""
        return f"{self.method} {self.uri} HTTP/1.1"


def escaped_by_nginx(text: str) -> str:
    """The text as nginx writes it: what is not printable ASCII, and quotes and backslashes, as octets."""
    return "".join(
        chr(octet) if 32 <= octet < 127 and octet not in b'"\\' else f"\\x{octet:02X}" for octet in text.encode()
    )


def escaped_by_apache(text: str) -> str:
    """The text as Apache writes it (`ap_escape_logitem`)."""
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\v": "\\v", '"': '\\"', "\\": "\\\\"}
    return "".join(named.get(one) or "".join(_octet_of_apache(octet) for octet in one.encode()) for one in text)


def escaped_for_json(text: str) -> str:
    """The text as nginx writes it with `escape=json`, and as Go's encoder writes it."""
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f", '"': '\\"', "\\": "\\\\"}
    return "".join(named.get(one) or (one if one >= " " else f"\\u{ord(one):04X}") for one in text)


def nginx_line(form: str, served: Served, escape: Callable[[str], str] = escaped_by_nginx) -> str:
    """Returns the line that nginx writes with the log format `form`. It writes `-` for a missing value."""
    values = {
        "remote_addr": served.address,
        "remote_user": served.user,
        "time_local": f"{served.at:%d/%b/%Y:%H:%M:%S %z}",
        "time_iso8601": served.at.isoformat(timespec="seconds"),
        "msec": f"{served.at.timestamp():.3f}",
        "request": served.line,
        "request_method": served.method,
        "request_uri": served.uri,
        "uri": served.uri.partition("?")[0],
        "is_args": "?" if "?" in served.uri else "",
        "args": served.uri.partition("?")[2],
        "server_protocol": "HTTP/1.1",
        "status": f"{served.status:03}",
        "body_bytes_sent": "512",
        "http_referer": served.referrer,
        "http_user_agent": served.agent,
        "http_x_forwarded_for": served.forwarded,
        "scheme": "https",
        "host": served.host,
        "server_port": "443",
        "request_time": "0.003",
        "upstream_response_time": "0.001, 0.002",
    }
    absent = "" if escape is escaped_for_json else "-"

    def value(match: re.Match[str]) -> str:
        text = values[match[1]]
        return absent if text is None else escape(text)

    return re.sub(r"\$\{?(\w+)\}?", value, form)


def apache_line(form: str, served: Served) -> str:
    """Returns the line that Apache writes with `LogFormat "form"`. It writes `-` for a missing value."""
    path, mark, query = served.uri.partition("?")
    headers = {"referer": served.referrer, "user-agent": served.agent, "x-forwarded-for": served.forwarded}
    values = {
        **dict.fromkeys(("h", "a"), served.address),
        **dict.fromkeys(("v", "V"), served.host),
        "l": None,
        "u": served.user,
        "t": f"[{served.at:%d/%b/%Y:%H:%M:%S %z}]",
        "r": served.line,
        "m": served.method,
        "U": path,
        "q": mark + query,
        "H": "HTTP/1.1",
        "p": "443",
        "s": f"{served.status}",
        **dict.fromkeys(("b", "O", "D", "^FB"), "812"),
    }

    def value(match: re.Match[str]) -> str:
        argument, letter = match[1], match[2]
        if letter == "t" and argument:
            return _time_of_apache(served.at, argument)
        if letter == "u" and served.user == "":
            return '""'
        text = headers[argument.lower()] if argument else values[letter]
        return "-" if text is None else escaped_by_apache(text)

    return re.sub(r"%[<>]?(?:\{([^}]*)\})?(\^[A-Z]{2}|[A-Za-z])", value, form.replace('\\"', '"'))


def caddy_line(served: Served) -> str:
    """Returns the line that Caddy writes. A header that was not sent is no key."""
    headers = {"User-Agent": served.agent, "Referer": served.referrer}
    request = {"remote_ip": "10.0.0.1", "remote_port": "4711", "client_ip": served.address, "proto": "HTTP/2.0"}
    request |= {"method": served.method, "host": served.host, "uri": served.uri}
    entry = {
        "level": "info",
        "ts": served.at.timestamp(),
        "logger": "http.log.access",
        "msg": "handled request",
        "request": {**request, "headers": {name: [text] for name, text in headers.items() if text is not None}},
        "user_id": served.user or "",
        "duration": 0.001,
        "status": served.status,
        "resp_headers": {"Server": ["Caddy"]},
    }
    return json.dumps(entry, ensure_ascii=False)


def _octet_of_apache(octet: int) -> str:
    return chr(octet) if 32 <= octet < 127 else f"\\x{octet:02x}"


def _time_of_apache(at: datetime, form: str) -> str:
    units = {"sec": 1, "msec": 1000, "usec": 1_000_000}
    microseconds = (at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000
    return str(round(microseconds) * units[form] // 1_000_000) if form in units else f"{at:{form}}"
