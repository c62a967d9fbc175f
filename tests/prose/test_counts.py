"""A count and its noun agree wherever a user reads them, because one helper writes both."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidemark.command_line.counts import counted
from tidemark.pipeline.verifier.verification import Finding, Verification, fill
from tidemark.pipeline.verifier.verification_report import show

ROOT = Path(__file__).parents[2]
PACKAGES = ("command_line", "demo", "http_server", "kafka_access", "pipeline", "producers")
NOUNS = (
    *("batches", "browsers", "bytes", "characters", "clicks", "columns", "commits", "corrections", "cores", "days"),
    *("duplicates", "entries", "epochs", "events", "files", "formats", "ids", "keys", "letters", "lines", "members"),
    *("offsets", "pages", "panes", "parameters", "partitions", "parts", "records", "reports", "rows", "sessions"),
    *("settings", "statements", "steps", "tables", "times", "users", "values", "verdicts", "versions", "violations"),
    *("VIOLATIONS", "visits", "windows", "writers"),
)
AFTER_A_VALUE = re.compile(rf" (?:(?!in |with|retains )[a-z]+ )?(?:{'|'.join(NOUNS)})\b(?!/s)")
IN_A_TEMPLATE = re.compile(rf"\{{[a-z_]+\}}{AFTER_A_VALUE.pattern}|[|] (?:number|length) \}}\}}{AFTER_A_VALUE.pattern}")
NOT_ONE = {
    "command_line/printable.py: {len(text)} characters",
    "demo/__main__.py: {PARTITIONS} partitions",
    "demo/__main__.py: {sent} records",
    "http_server/body.py: {most_bytes} bytes",
    "pipeline/sql_server/login.py: {_SHORTEST} characters",
    "pipeline/settings/report_settings.py: {_LONGEST_NAME} characters",
    "pipeline/decoding/common_type.py: {_MOST_TYPES} parts",
    "pipeline/web/dashboard/shared_views.py: {_PENDING} other pages",
    "pipeline/sql_server/client_session.py: {_MOST_PREPARED} statements",
    "pipeline/sql_server/client_session.py: {_MOST_TEXT} characters",
    "pipeline/sql_server/parameters.py: {LONGEST} characters",
    "pipeline/runtime/download.py: {expected} bytes",
    "pipeline/settings/window_limits.py: {windows.overlap} windows",
    "pipeline/settings/window_limits.py: {panes} panes",
    "pipeline/tables/probe.py: {_AT_ONCE} writers",
    "pipeline/verifier/fired_windows.py: {found} times",
    "pipeline/verifier/fired_windows.py: {row['found']} times",
    "pipeline/verifier/ledger_balance.py: {found} times",
    "pipeline/verifier/rejected_records.py: {found} times",
    "pipeline/verifier/result_sums.py: {found} times",
    "pipeline/verifier/unique_events.py: {found} times",
    "producers/access_log/format_check.py: {self._malformed} lines",  # "the first line is not", if it is one
}
"""Plurals of a value that is never 1."""
NOT_COUNTED = {
    "pipeline/reading/health_client.py: {url} reports",
    "pipeline/verifier/count_windows.py: {select} windows",
    "pipeline/verifier/user_sums.py: {row['most_clicks']} clicks",
}


def plurals(path: Path) -> Iterator[str]:
    """Yields each value in a text of a file with the plural that follows it, unless the helper counts it."""
    if path.suffix == ".html":
        yield from (match[0] for match in IN_A_TEMPLATE.finditer(path.read_text()))
        return
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.JoinedStr():
                for value, text in zip(node.values, node.values[1:], strict=False):
                    yield from _after(value, text)
            case ast.Constant(value=str(text)):
                yield from (match[0] for match in IN_A_TEMPLATE.finditer(text))


def _after(value: ast.expr, text: ast.expr) -> Iterator[str]:
    match value, text:
        case ast.FormattedValue(value=ast.Call(func=ast.Name(id="counted"))), _:
            return
        case ast.FormattedValue(), ast.Constant(value=str(words)) if plural := AFTER_A_VALUE.match(words):
            yield f"{{{ast.unparse(value.value)}}}{plural[0]}"


@pytest.mark.slow
def test_a_plural_follows_no_value_that_may_be_1() -> None:
    paths = (path for package in PACKAGES for path in (ROOT / package).rglob("*.*") if path.suffix in {".py", ".html"})
    found = {f"{path.relative_to(ROOT)}: {plural}" for path in paths for plural in plurals(path)}
    assert found == NOT_ONE | NOT_COUNTED


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 batches"), (1, "1 batch"), (2, "2 batches"), (1_000, "1,000 batches")]
)
def test_only_1_has_the_singular(count: int, text: str) -> None:
    assert counted(count, "batch", "batches") == text
    assert counted(count, "row").endswith(" row") is (count == 1)


def test_verify_prints_the_singular_of_each_noun(capsys: pytest.CaptureFixture[str]) -> None:
    finding = Finding("balance")
    finding.count(1, "epoch")
    finding.count(1, "batch", "batches")
    finding.report(fill("batch 7 has {found:count record} and {expected:count verdict}", {"found": 1, "expected": 2}))
    show(Verification("lake", (finding,)))
    printed = capsys.readouterr().out
    assert "1 epoch, 1 batch " in printed
    assert "1 VIOLATION " in printed
    assert "VIOLATION: batch 7 has 1 record and 2 verdicts" in printed
