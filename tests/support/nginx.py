"""A real nginx in a folder of its own, and a crowd that asks it for all that a log may hold.

`python -m tests.support.nginx FOLDER` writes a sample of logs to FOLDER; see tests/producers/access_log/sample.
"""

import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from demo.children import free_port
from demo.die_with_parent import dying_with_parent
from tests.support.waiting import PATIENCE_S, wait_for

NGINX: Final = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
HOST: Final = "127.0.0.1"
CONFIG: Final = """
daemon off; worker_processes 2; pid nginx.pid; error_log error.log; USER
events {{ worker_connections 64; }}
http {{
    log_format common '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent';
    log_format json escape=json '{{"remote_addr":"$remote_addr","time_iso8601":"$time_iso8601","request":"$request",'
        '"status":"$status","http_referer":"$http_referer","http_user_agent":"$http_user_agent","scheme":"$scheme",'
        '"host":"$host","http_sec_purpose":"$http_sec_purpose"}}';
    access_log access.log combined; access_log common.log common; access_log json.log json;
    client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
    default_type text/html; root site; if_modified_since before;
    server {{
        listen {host}:{port};
        location / {{ return 200 "a page"; }}
        location = /index.html {{ }}
        location /old {{ return 301 /shoes; }}
        location /missing {{ return 404; }}
        location /broken {{ return 500; }}
    }}
}}
"""


class Nginx:
    """Leaving the context stops it. Its logs are `access.log` (combined), `common.log` and `json.log`."""

    def __init__(self, folder: Path) -> None:
        assert NGINX is not None
        self.folder = folder
        self.port = free_port()
        (folder / "site").mkdir(parents=True)
        (folder / "site" / "index.html").write_text("the first page")
        user = "user root;" if os.geteuid() == 0 else ""
        config = folder / "nginx.conf"
        config.write_text(CONFIG.replace("USER", user).format(host=HOST, port=self.port))
        command = [NGINX, "-p", str(folder), "-c", str(config), "-e", str(folder / "error.log")]
        self._process = subprocess.Popen(dying_with_parent(command))

    def __enter__(self) -> Self:
        wait_for(lambda: (self.folder / "nginx.pid").exists() and _answers(self.port), PATIENCE_S, "nginx")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.send_signal(signal.SIGQUIT)  # it writes its logs to the end
        self._process.wait(PATIENCE_S)


class Asked(NamedTuple):
    """A request, and what is to become of its line."""

    outcome: str
    method: str
    path: str
    agent: str | None
    headers: dict[str, str]


PERSONS: Final = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Safari/604.1",
    'Mozilla/5.0 (Windows NT 10.0) "quoted" \\ caf\u00e9 Chrome/126.0.0.0 Safari/537.36',
)
ROBOTS: Final = (
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
    "curl/8.5.0",
)


def crowd(count: int, seed: int) -> list[Asked]:
    """So many requests of all kinds, by chance."""
    chance = random.Random(seed)
    kinds: dict[str, Callable[[int], Asked]] = {
        "visit": lambda n: _asked("visit", f"/page-{n}?token=secret-{n}", chance),
        "visit again": lambda _: _asked("visit", "/index.html", chance, {"If-Modified-Since": _tomorrow()}),
        "part": lambda _: _asked("other_status", "/index.html", chance, {"Range": "bytes=0-3"}),
        "asset": lambda n: _asked("asset", f"/style-{n}.css", chance),
        "robot": lambda n: _asked("robot", f"/page-{n}", chance)._replace(agent=chance.choice(ROBOTS)),
        "nameless": lambda n: _asked("no_agent", f"/page-{n}", chance)._replace(agent=None),
        "redirect": lambda n: _asked("redirect", f"/old-{n}", chance),
        "missing": lambda n: _asked("client_error", f"/missing-{n}", chance),
        "broken": lambda n: _asked("server_error", f"/broken-{n}", chance),
        "probe": lambda _: _asked("probe", chance.choice(["/.env", "/wp-login.php"]), chance),
        "post": lambda n: _asked("other_method", f"/page-{n}", chance)._replace(method="POST"),
        "garbage": lambda _: Asked("no_request", "", "", None, {}),
    }
    shares = [40, 6, 2, 16, 10, 2, 4, 6, 2, 4, 4, 4]
    return [kinds[name](number) for number, name in enumerate(chance.choices(list(kinds), shares, k=count))]


def ask(port: int, requests: list[Asked], threads: int = 4) -> Counter[str]:
    """Has a crowd of several addresses ask for it all; returns how many lines are to have which outcome."""
    with ThreadPoolExecutor(threads) as pool:
        for number, asked in enumerate(requests):
            pool.submit(_ask, port, f"127.0.0.{2 + number % 9}", asked).add_done_callback(lambda done: done.result())
    return Counter(asked.outcome for asked in requests)


def _asked(outcome: str, path: str, chance: random.Random, headers: dict[str, str] | None = None) -> Asked:
    referrer = {"Referer": "https://search.example/?q=secret"} if chance.random() < 0.5 else {}
    return Asked(outcome, "GET", path, chance.choice(PERSONS), {**referrer, **(headers or {})})


def _ask(port: int, address: str, asked: Asked) -> None:
    if not asked.method:
        with socket.create_connection((HOST, port), PATIENCE_S, (address, 0)) as plain:
            plain.sendall(b"\x16\x03\x01\x02 hello\r\n\r\n")
            while plain.recv(1024):
                pass
        return
    client = http.client.HTTPConnection(HOST, port, timeout=PATIENCE_S, source_address=(address, 0))
    agent = {"User-Agent": asked.agent.encode()} if asked.agent else {}
    client.request(asked.method, asked.path, headers={**asked.headers, **agent})
    client.getresponse().read()
    client.close()


def _tomorrow() -> str:
    return "Fri, 01 Jan 2100 00:00:00 GMT"


def _answers(port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex((HOST, port)) == 0


if __name__ == "__main__":
    with Nginx(Path(sys.argv[1])) as nginx:
        # Leave out the requests that checked whether nginx is up.
        counts = ask(nginx.port, crowd(300, seed=1))
    (nginx.folder / "expected.json").write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
