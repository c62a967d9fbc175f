"""Lists shipped packages with their licences and known vulnerabilities: `python -m dev.audit`.

Writes build/sbom.cdx.json (CycloneDX): the Python packages of uv.lock except development dependencies, the jars of
jars.lock and the files of vendored.lock. Exit code 1: a licence is not allowed, or a package or a jar is vulnerable; 2:
something could not be looked up, which it names. `--osv FOLDER` reads the records of jars there and not at osv.dev.
"""

import argparse
import base64
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

from dev import osv
from dev.environment import ROOT, find_uv, uv_environment
from dev.licences import is_allowed, jar_licence, package_licence
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.runtime.jars import SETS, Jar, locked

SBOM: Final = ROOT / "build" / "sbom.cdx.json"
VENDORED: Final = ROOT / "dev" / "vendored.lock"
_VULNERABLE: Final = 1
_UNKNOWN: Final = 2
Component = dict[str, Any]


def sbom() -> dict[str, Any]:
    """Returns the bill of materials. Raises SetUpError if uv cannot export the locked packages."""
    bill = _export()
    for component in bill["components"]:
        _add_licence(component, package_licence(component["name"]))
    # A jar in several sets is listed by the first of them.
    jars = {jar.coordinate: (jar, section) for section in reversed(SETS) for jar in locked(section)}
    bill["components"] += [_jar(jar, section) for jar, section in jars.values()]
    bill["components"] += [_vendored(purl, package) for purl, package in tomllib.loads(VENDORED.read_text()).items()]
    return bill


def _jar(jar: Jar, section: str) -> Component:
    group, name, version = jar.coordinate.split(":")
    purl = f"pkg:maven/{group}/{name}@{version}"
    component: Component = {
        "type": "library",
        "bom-ref": purl,
        "group": group,
        "name": name,
        "version": version,
        "purl": purl,
        # The broker's jars are for the demo and the tests, and are not in the image.
        "scope": "required" if section in ("s3", "spark") else "excluded",
        "hashes": [{"alg": "SHA-256", "content": jar.sha256}],
    }
    _add_licence(component, jar_licence(jar.coordinate))
    return component


def _vendored(purl: str, package: dict[str, Any]) -> Component:
    name, _, version = purl.rpartition("/")[2].partition("@")
    digest = base64.b64decode(package["integrity"].removeprefix("sha512-")).hex()
    component: Component = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        "scope": "required",
        "hashes": [{"alg": "SHA-512", "content": digest}],
    }
    _add_licence(component, package["licence"])
    return component


def _add_licence(component: Component, expression: str | None) -> None:
    if expression:
        component["licenses"] = [{"expression": expression}]


def disallowed(bill: dict[str, Any]) -> list[str]:
    """Returns a line for each component whose licence is unknown or not allowed."""
    expressions = {part["name"]: part.get("licenses", [{}])[0].get("expression") for part in bill["components"]}
    return [
        f"{name} is under {expression or 'an unknown licence'}: see dev/licences.py"
        for name, expression in sorted(expressions.items())
        if not (expression and is_allowed(expression))
    ]


def vulnerabilities() -> int:
    """Has uv look the locked packages up at osv.dev, prints its report and returns the exit code."""
    result = _uv("audit", "--locked", "--no-dev", "--preview-features", "audit-command")
    sys.stdout.write(result.stdout)
    if result.returncode not in {0, _VULNERABLE}:
        sys.stderr.write(f"known vulnerabilities could not be looked up:\n{result.stderr}")
        return _UNKNOWN
    return result.returncode


def vulnerable_jars(bill: dict[str, Any], folder: Path | None) -> int:
    """Looks the jars of a bill up at osv.dev, or in a folder with its records, and returns the exit code."""
    parts = [part for part in bill["components"] if part["purl"].startswith("pkg:maven/")]
    jars = [f"{part['group']}:{part['name']}:{part['version']}" for part in parts]
    try:
        found, unknown = osv.recorded(folder, jars) if folder else (osv.asked(jars), [])
    except (OSError, ValueError) as error:
        sys.stderr.write(f"known vulnerabilities of {len(jars)} jars could not be looked up: {error}\n")
        return _UNKNOWN
    sys.stdout.writelines(f"{jar} has {', '.join(ids)}\n" for jar, ids in sorted(found.items()))
    sys.stderr.writelines(f"{record} lists no versions: look it up\n" for record in unknown)
    sys.stdout.write(f"{len(found)} of {len(jars)} jars are vulnerable\n")
    return _UNKNOWN if unknown else _VULNERABLE if found else 0


def _export() -> dict[str, Any]:
    formats = ("--format", "cyclonedx1.5", "--preview-features", "sbom-export")
    result = _uv("export", "--locked", "--quiet", "--no-dev", "--all-extras", *formats)
    if result.returncode:
        raise SetUpError(f"uv could not export the locked packages: {result.stderr.strip()}")
    bill: dict[str, Any] = json.loads(result.stdout)
    return bill


def _uv(*arguments: str) -> subprocess.CompletedProcess[str]:
    line = [find_uv() or "uv", *arguments]
    return subprocess.run(line, capture_output=True, text=True, cwd=ROOT, env=uv_environment(), check=False)


def main() -> int:
    """Writes the bill of materials, then reports licences and vulnerabilities; returns the exit code."""
    parser = argparse.ArgumentParser(prog="make audit")
    parser.add_argument("--osv", type=Path, metavar="FOLDER", help="records of jars; by default osv.dev is asked")
    folder = parser.parse_args().osv
    try:
        bill = sbom()
    except SetUpError as error:
        sys.stderr.write(f"{error}\n")
        return _UNKNOWN
    SBOM.parent.mkdir(exist_ok=True)
    SBOM.write_text(json.dumps(bill, indent=2))
    sys.stdout.write(f"{SBOM.relative_to(ROOT)}: {len(bill['components'])} components\n")
    problems = disallowed(bill)
    for line in problems:
        sys.stderr.write(f"{line}\n")
    return max(vulnerabilities(), vulnerable_jars(bill, folder), int(bool(problems)))


if __name__ == "__main__":
    sys.exit(main())
