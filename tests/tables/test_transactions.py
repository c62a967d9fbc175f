"""Each application of transaction versions is documented, in the module and on the page."""

import re

from dev.transactions_table import PAGE, with_table
from tidemark.pipeline.tables import transactions


def test_the_table_of_transaction_versions_is_what_the_module_makes() -> None:
    assert PAGE.read_text() == with_table(PAGE.read_text()), "make pages"


def test_the_table_has_every_application() -> None:
    names = [value for name, value in vars(transactions).items() if name.endswith("_APP")]
    rows = re.findall(r"^\| `(tidemark[^`<]*)(?:<report>)?` \| On ", PAGE.read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(names)
