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
Component = dict[str, Any]


def sbom() -> dict[str, Any]:
    """The bill of materials. Raises SetUpError where uv cannot tell what is locked."""
    bill: dict[str, Any] = json.loads(_uv("export", "--locked", "--quiet", "--no-dev", "--format", "cyclonedx1.5"))
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


def _uv(*arguments: str) -> str:
    uv = find_uv() or "uv"
    done = subprocess.run([uv, *arguments], capture_output=True, text=True, cwd=ROOT, env=uv_environment(), check=False)
    if done.returncode:
        raise SetUpError(f"`uv {arguments[0]}` failed: {done.stderr.strip()}")
    return done.stdout


def main() -> int:
    """Writes the bill, then says what is wrong with what is on it."""
    try:
        bill = sbom()
    except SetUpError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    SBOM.parent.mkdir(exist_ok=True)
    SBOM.write_text(json.dumps(bill, indent=2))
    sys.stdout.write(f"{SBOM.relative_to(ROOT)}: {len(bill['components'])} components\n")
    wrong = refused(bill)
    for line in wrong:
        sys.stderr.write(f"{line}\n")
    return max(bool(wrong), vulnerabilities())


def vulnerabilities() -> int:
    """Has uv look the locked packages up at osv.dev, and says what it found; returns the exit code."""


if __name__ == "__main__":
    sys.exit(main())
