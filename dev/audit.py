"""What is shipped, under which licences and with which known vulnerabilities: `python -m dev.audit`.

Writes build/sbom.cdx.json (CycloneDX): the Python packages of uv.lock without those for development, and the jars of
jars.lock. Ends with exit code 1 where a licence is not allowed or a package is known to be vulnerable, 2 where that
cannot be found out.
"""

import json
import subprocess
import sys
from typing import Any, Final

from dev.environment import ROOT, find_uv, uv_environment
from dev.licences import is_allowed, of_jar, of_package
from pipeline.errors import SetUpError
from pipeline.runtime.jars import Jar, locked

SBOM: Final = ROOT / "build" / "sbom.cdx.json"
_VULNERABLE: Final = 1
_UNKNOWN: Final = 2
Component = dict[str, Any]


def sbom() -> dict[str, Any]:
    """The bill of materials. Raises SetUpError where uv cannot tell what is locked."""
    bill = _export()
    for component in bill["components"]:
        _add_licence(component, of_package(component["name"]))
    jars = {jar.coordinate: (jar, section) for section in ("broker", "spark") for jar in locked(section)}
    bill["components"] += [_jar(jar, section) for jar, section in jars.values()]
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
        # The broker's are for the demo and the tests, and are not in the image.
        "scope": "required" if section == "spark" else "excluded",
        "hashes": [{"alg": "SHA-256", "content": jar.sha256}],
    }
    _add_licence(component, of_jar(jar.coordinate))
    return component


def _add_licence(component: Component, expression: str | None) -> None:
    if expression:
        component["licenses"] = [{"expression": expression}]


def refused(bill: dict[str, Any]) -> list[str]:
    """A line for each component whose licence is unknown or not allowed."""
    expressions = {one["name"]: one.get("licenses", [{}])[0].get("expression") for one in bill["components"]}
    return [
        f"{name} is under {expression or 'a licence that nobody looked up'}: see dev/licences.py"
        for name, expression in sorted(expressions.items())
        if not (expression and is_allowed(expression))
    ]


def vulnerabilities() -> int:
    """Has uv look the locked packages up at osv.dev, and tells what it says; returns the exit code."""
    done = _uv("audit", "--locked", "--no-dev", "--preview-features", "audit-command")
    sys.stdout.write(done.stdout)
    if done.returncode not in {0, _VULNERABLE}:
        sys.stderr.write(f"known vulnerabilities could not be looked up; nothing is known of them:\n{done.stderr}")
        return _UNKNOWN
    return done.returncode


def _export() -> dict[str, Any]:
    formats = ("--format", "cyclonedx1.5", "--preview-features", "sbom-export")
    done = _uv("export", "--locked", "--quiet", "--no-dev", *formats)
    if done.returncode:
        raise SetUpError(f"uv could not tell what is locked: {done.stderr.strip()}")
    exported: dict[str, Any] = json.loads(done.stdout)
    return exported


def _uv(*arguments: str) -> subprocess.CompletedProcess[str]:
    line = [find_uv() or "uv", *arguments]
    return subprocess.run(line, capture_output=True, text=True, cwd=ROOT, env=uv_environment(), check=False)


def main() -> int:
    """Writes the bill, then says what is wrong with what is on it."""
    try:
        bill = sbom()
    except SetUpError as error:
        sys.stderr.write(f"{error}\n")
        return _UNKNOWN
    SBOM.parent.mkdir(exist_ok=True)
    SBOM.write_text(json.dumps(bill, indent=2))
    sys.stdout.write(f"{SBOM.relative_to(ROOT)}: {len(bill['components'])} components\n")
    wrong = refused(bill)
    for line in wrong:
        sys.stderr.write(f"{line}\n")
    return vulnerabilities() or bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
