"""Known vulnerabilities of jars, from osv.dev or from a folder with its records (its export of Maven, unpacked).

Source of both formats: https://google.github.io/osv.dev/.
"""

import json
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

_BATCH: Final = "https://api.osv.dev/v1/querybatch"
_PATIENCE_S: Final = 60
Coordinate = str
"""Group, name and version of a jar, with colons between them."""


def asked(jars: Sequence[Coordinate]) -> dict[Coordinate, list[str]]:
    """Asks osv.dev; returns ids of vulnerabilities by jar, if it has some. Raises OSError without an answer."""
    packages = [jar.rsplit(":", 1) for jar in jars]
    queries = [{"package": {"ecosystem": "Maven", "name": name}, "version": version} for name, version in packages]
    body, headers = json.dumps({"queries": queries}).encode(), {"Content-Type": "application/json"}
    request = urllib.request.Request(_BATCH, body, headers)
    with urllib.request.urlopen(request, timeout=_PATIENCE_S) as answer:
        results = json.load(answer)["results"]
    found = {jar: [one["id"] for one in result.get("vulns", ())] for jar, result in zip(jars, results, strict=True)}
    return {jar: ids for jar, ids in found.items() if ids}


def recorded(folder: Path, jars: Sequence[Coordinate]) -> tuple[dict[Coordinate, list[str]], list[str]]:
    """Reads the records in a folder; returns ids by jar, and the records of these packages that list no versions.

    Raises OSError or ValueError if a record cannot be read, and if there is no record.
    """
    versions = dict[str, str](jar.rsplit(":", 1) for jar in jars)
    found, unknown, records = dict[Coordinate, list[str]](), list[str](), sorted(folder.glob("*.json"))
    if not records:
        raise ValueError(f"{folder} has no records of OSV (*.json)")
    for file in records:
        record = json.loads(file.read_text())
        for name, affected in _affected(record):
            if name not in versions:
                continue
            if not affected:
                unknown.append(f"{record['id']} of {name}")
            elif versions[name] in affected:
                found.setdefault(f"{name}:{versions[name]}", []).append(record["id"])
    return found, unknown


def _affected(record: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yields the packages of Maven that a record affects, and the versions that it lists."""
    if "withdrawn" in record:
        return
    for affected in record.get("affected", ()):
        if affected["package"]["ecosystem"] == "Maven":
            yield affected["package"]["name"], affected.get("versions", [])
