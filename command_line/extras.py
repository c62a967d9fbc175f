"""The extras of the package: what only some verbs need."""

from typing import Final

MODULES: Final = {
    "crawlerdetect": "producers",
    "delta": "spark",
    "duckdb": "sql",
    "jinja2": "dashboard",
    "markupsafe": "dashboard",
    "pyruhvro": "producers",
    "rich": "terminal",
}
"""The extra that installs each module."""


def of_missing(error: ModuleNotFoundError) -> str | None:
    """Returns a sentence if the missing module belongs to an extra.

    >>> of_missing(ModuleNotFoundError(name="rich.table"))
    "this command needs the extra terminal: pip install 'tidemark-lake[terminal]'"
    """
    extra = MODULES.get((error.name or "").partition(".")[0])
    return extra and f"this command needs the extra {extra}: pip install 'tidemark-lake[{extra}]'"
