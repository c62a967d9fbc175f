"""Log formats as the server's configuration has them: nginx's `log_format` and Apache's `LogFormat`.

The names of nginx's variables are used for both. Apache's directives are translated to them.
"""

import re
from typing import Final

VARIABLES: Final = {
    "address": ("remote_addr", "http_x_forwarded_for"),
    "time": ("msec", "time_iso8601", "time_local"),
    "request": ("request",),
    "method": ("request_method",),
    "uri": ("request_uri", "uri"),
    "status": ("status",),
    "referrer": ("http_referer",),
    "agent": ("http_user_agent",),
    "scheme": ("scheme",),
    "host": ("host", "http_host", "server_name"),
    "purpose": ("http_sec_purpose",),
}
"""nginx's variables by meaning; the first that a format contains is used."""

_DIRECTIVE: Final = re.compile(r"%[<>!\d,]*(?:\{([^}]*)\})?(\^(?:t[io]|F[BU])|[A-Za-z%])")
_DIRECTIVES: Final = {
    "h": "${remote_addr}",
    "a": "${remote_addr}",
    "u": "${remote_user}",
    "t": "[${time_local}]",
    "r": "${request}",
    "m": "${request_method}",
    "U": "${uri}",
    "s": "${status}",
    "v": "${server_name}",
    "V": "${host}",
    "p": "${server_port}",
    "%": "%",
}
_CLF_TIME: Final = "%d/%b/%Y:%H:%M:%S %z"
_UNIX_TIMES: Final = ("sec", "msec", "usec")
_MERGED: Final = (
    (re.compile(r"\$\{uri\}\$\{apache_q\}|\$\{?uri\}?\$\{?is_args\}?\$\{?args\}?"), "${request_uri}"),
    (re.compile(r"\$\{?(?:host|server_name)\}?:\$\{?server_port\}?"), "${http_host}"),
)
"""Pairs of variables that are one field."""


def nginx_format(text: str) -> str:
    r"""Returns a format of nginx or Apache in nginx's notation.

    >>> nginx_format(r'%h %l %u %t \"%r\" %>s')
    '${remote_addr} ${apache_l} ${remote_user} [${time_local}] "${request}" ${status}'
    """
    text = text.replace('\\"', '"').replace("\\t", "\t")
    if not re.search(r"\$\{?[a-z]", text):
        text = _DIRECTIVE.sub(_translated, text)
    for pattern, variable in _MERGED:
        text = pattern.sub(variable, text)
    return text


def _translated(directive: re.Match[str]) -> str:
    argument, letter = directive[1], directive[2]
    other = f"${{apache_{letter.strip('^')}}}"
    if argument is None:
        return _DIRECTIVES.get(letter, other)
    if letter == "i":
        return f"${{http_{argument.lower().replace('-', '_')}}}"
    return f"${{{_time_variable(argument.removeprefix('begin:'))}}}" if letter == "t" else other


def _time_variable(form: str) -> str:
    if form in _UNIX_TIMES:
        return "msec"
    return "time_local" if form == _CLF_TIME else "time_iso8601"
