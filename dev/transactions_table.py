"""Writes the table of transaction versions in `docs/architecture.md` from their documentation: `make pages`."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

from dev.generated import with_generated
from tidemark.pipeline.tables import transactions

PAGE: Final = Path(__file__).parents[1] / "docs" / "architecture.md"
_SOURCE: Final = "pipeline/tables/transactions.py"


def with_table(page: str) -> str:
    """Returns `page` with the current table between its markers."""
    rows = "".join(f"| `{name}` | {meaning} |\n" for name, meaning in _documented())
    return with_generated(page, _SOURCE, f"| transaction | meaning |\n|---|---|\n{rows}")


def _documented() -> Iterator[tuple[str, str]]:
    """Yields the name of each application, with `<report>` where a report's name follows, and its documentation."""
    tree = ast.parse(Path(transactions.__file__).read_text())
    for constant, text in pairwise(tree.body):
        match constant, text:
            case ast.AnnAssign(value=ast.Constant(value=str(name))), ast.Expr(value=ast.Constant(value=str(meaning))):
                yield f"{name}<report>" if name.endswith(":") else name, " ".join(meaning.split())


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
