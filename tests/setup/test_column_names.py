"""A dimension cannot have a name that an engine, or our own SQL over results, would read as something else."""

import ast
import re
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
import pytest
from deltalake import QueryBuilder

from tidemark.pipeline.event_time.reports import KEYS
from tidemark.pipeline.measures import MEASURES
from tidemark.pipeline.settings.column_names import is_reserved
from tidemark.pipeline.tables.schemas import CORRECTIONS, PAGE_VIEWS, PANES

ROOT: Final = Path(__file__).parents[2] / "pipeline"
MODULES: Final = (
    *ROOT.glob("results/*.py"),
    *(ROOT / "verifier" / f"{name}.py" for name in ("queries", "periodic_sums", "session_sums", "count_windows")),
    *(ROOT / "verifier" / f"{name}.py" for name in ("distinct_users", "event_times", "aligned_windows", "result_sums")),
    *(ROOT / "verifier" / f"{name}.py" for name in ("conservation", "fired_windows", "measured_fields")),
    *(ROOT / "verifier" / f"{name}.py" for name in ("other_values", "rankings")),
    *(ROOT / "amend" / f"{name}.py" for name in ("finality", "watermark_reset")),
    ROOT / "reading" / "table_reader.py",
    *(ROOT / "web" / "pages" / f"{name}.py" for name in ("window_sums", "top_lists")),
)
"""The modules whose SQL names keys of reports."""
SQL: Final = re.compile(r"\b(SELECT|FROM|WHERE|AS|OVER|THEN|AND|BY|IN|JOIN)\b")
NAME: Final = re.compile(r"(?<![\w'])[a-z][a-z0-9_]*[a-z0-9](?![\w'(])")
STATEMENTS: Final = (
    "SELECT {name} AS found, count(*) AS n FROM (SELECT 'a' AS {name}) AS t GROUP BY {name}",
    "SELECT t.{name} AS found FROM (SELECT 'a' AS {name}) AS t WHERE t.{name} IS NOT DISTINCT FROM {name}",
    "SELECT {name} AS found, row_number() OVER (PARTITION BY {name}) AS n FROM (SELECT 'a' AS {name}) AS t",
)


def names_in_sql() -> set[str]:
    """Returns the names in the texts of SQL; docstrings are left out."""
    found = set[str]()
    for module in MODULES:
        tree = ast.parse(module.read_text())
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
            if is_text and SQL.search(text := re.sub(r"\{[^{}]*\}", "{}", node.value)):  # type: ignore[attr-defined]
                found |= {*NAME.findall(text)}
    return found


def is_a_name(name: str) -> bool:
    """Returns whether both engines read it as the name of a column."""
    for statement in STATEMENTS:
        sql = statement.format(name=name)
        try:
            answers = [duckdb.sql(sql).fetchall()[0][0], pa.table(QueryBuilder().execute(sql))["found"][0].as_py()]
        except Exception:  # noqa: BLE001 - whatever an engine raises
            return False
        if answers != ["a", "a"]:
            return False
    return True


def test_no_name_in_our_sql_is_allowed() -> None:
    columns = {*PANES.schema.names, *CORRECTIONS.schema.names, *PAGE_VIEWS.schema.names, "state"}
    allowed = {name for name in {*names_in_sql(), *columns} if not is_reserved(name)}
    assert allowed - {*KEYS, *MEASURES} == set()


@pytest.mark.slow
def test_every_word_of_sql_that_is_no_name_is_refused() -> None:
    rows = duckdb.sql("SELECT keyword_name FROM duckdb_keywords()").fetchall()
    words = {name for (name,) in rows if re.fullmatch("[a-z_]+", name)}
    assert {word for word in words if not is_reserved(word) and not is_a_name(word)} == set()


@pytest.mark.parametrize("name", ["campaign", "host", "hour", "plan", "device", "country", "name", "date", "source"])
def test_names_of_fields_are_allowed(name: str) -> None:
    assert not is_reserved(name)
    assert is_a_name(name)
