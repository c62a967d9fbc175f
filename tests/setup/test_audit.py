"""The bill of materials: all that is locked is on it, with hashes, and under licences that are allowed."""

import hashlib
import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dev.audit import VENDORED, disallowed, sbom, vulnerable_jars
from dev.licences import is_allowed

ROOT = Path(__file__).parents[2]


@cache
def bill() -> dict[str, Any]:
    return sbom()


def test_every_jar_is_on_the_bill_with_its_hash() -> None:
    locked = tomllib.loads((ROOT / "jars.lock").read_text())
    found = {one["purl"]: one["hashes"][0]["content"] for one in bill()["components"] if "maven" in one["purl"]}
    for section in locked.values():
        for coordinate, digest in section.items():
            group, name, version = coordinate.split(":")
            assert found[f"pkg:maven/{group}/{name}@{version}"] == digest


def test_every_package_is_on_the_bill_with_its_hashes_except_those_of_development() -> None:
    packages = {one["name"]: one for one in bill()["components"] if "pypi" in one["purl"]}
    assert {"pyspark", "deltalake", "confluent-kafka"} < packages.keys()
    assert not {"polars", "pytest", "ruff"} & packages.keys()
    for one in packages.values():
        assert all(file["hashes"] for file in one["externalReferences"])


def test_vendored_files_are_unchanged_and_their_packages_are_on_the_bill() -> None:
    found = {one["purl"]: one["licenses"] for one in bill()["components"] if "npm" in one["purl"]}
    for purl, package in tomllib.loads(VENDORED.read_text()).items():
        assert found[purl] == [{"expression": package["licence"]}]
        digests = {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in package["files"]}
        assert digests == package["files"]


def test_what_is_shipped_is_under_licences_that_are_allowed() -> None:
    assert disallowed(bill()) == []


def test_a_jar_with_a_known_vulnerability_is_named_and_so_is_what_cannot_be_decided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jar = {"purl": "pkg:maven/g/a@1.0", "group": "g", "name": "a", "version": "1.0"}
    bill = {"components": [jar, {"purl": "pkg:pypi/g"}]}
    assert vulnerable_jars(bill, tmp_path) == 2, "a folder without records is no clean bill"

    def record(name: str, versions: list[str], **more: str) -> None:
        affected = [{"package": {"ecosystem": "Maven", "name": "g:a"}, "versions": versions}]
        (tmp_path / f"{name}.json").write_text(json.dumps({"id": name, "affected": affected, **more}))

    record("OLD", ["0.9"])
    record("WITHDRAWN", ["1.0"], withdrawn="2026-01-01T00:00:00Z")
    assert vulnerable_jars(bill, tmp_path) == 0
    record("BAD", ["0.9", "1.0"])
    assert vulnerable_jars(bill, tmp_path) == 1
    record("VAGUE", [])
    assert vulnerable_jars(bill, tmp_path) == 2
    said = capsys.readouterr()
    assert "g:a:1.0 has BAD\n1 of 1 jars are vulnerable\n" in said.out
    assert "VAGUE of g:a lists no versions" in said.err


def test_an_unknown_licence_is_not_allowed() -> None:
    unknown, gpl = {"name": "new"}, {"name": "gpl", "licenses": [{"expression": "GPL-3.0-only"}]}
    lines = disallowed({"components": [unknown, gpl]})
    assert [line.split(":")[0] for line in lines] == [
        "gpl is under GPL-3.0-only",
        "new is under an unknown licence",
    ]


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only", False),
    ],
)
def test_one_side_of_an_or_and_both_of_an_and_must_be_allowed(expression: str, allowed: bool) -> None:
    assert is_allowed(expression) is allowed
