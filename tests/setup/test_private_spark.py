"""The connector uses those private classes of Spark that its package-info.java lists, and no others."""

import re
from pathlib import Path

CONNECTOR = Path(__file__).parents[2] / "connector" / "tidemark"
PUBLIC = re.compile(
    r"(api|sql\.(api|connector|types|util|vectorized))\.|sql\.(Column|Row|functions)$|(TaskContext|util\.Task\w+)$"
)


def test_private_classes_of_spark_have_a_reason() -> None:
    sources = "".join(file.read_text(encoding="utf-8") for file in CONNECTOR.glob("*.java"))
    named = {*re.findall(r"\borg\.apache\.spark\.([\w.]*\w)", sources)}
    reasons = CONNECTOR.joinpath("package-info.java").read_text(encoding="utf-8")
    listed = {*re.findall(r"\{@code ([\w.]+)\}", reasons)}
    assert {name for name in named if name in listed or not PUBLIC.match(name)} == listed
