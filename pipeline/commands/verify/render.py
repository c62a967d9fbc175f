"""A verification for a terminal."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from pipeline.commands.verify.verification import Verification


def as_table(verification: Verification) -> Table:
    """The laws, what each looked at, and how often it is broken."""
    table = Table("law", "looked at", "", title=f"The laws of {verification.warehouse}")
    for law in verification.laws:
        verdict = f"[red]{law.broken:,} BREACHES[/]" if law.broken else "[green]holds[/]"
        table.add_row(law.name, law.looked_at, verdict)
    return table


def sentences(verification: Verification) -> Iterator[str]:
    """The findings of each law, and its breaches."""
    for law in verification.laws:
        for told in law.told:
            yield f"told: {told}"
    for law in verification.laws:
        for breach in law.breaches:
            yield f"BREACH: {breach.sentence}"
        if law.broken > len(law.breaches) > 0:
            yield f"BREACH: {law.name}: {law.broken:,} breaches in all, of which {len(law.breaches)} are shown"


def show(verification: Verification, console: Console | None = None) -> None:
    """Prints the table and the sentences, each on a line of its own."""
    console = console or Console()
    console.print(as_table(verification))
    for sentence in sentences(verification):
        console.print(sentence, soft_wrap=True, markup=False, highlight=False)
