"""A verification for a terminal."""

from collections.abc import Iterator

from command_line.terminal import Console, Table, styled
from pipeline.verifier.verification import Verification


def show(verification: Verification, console: Console | None = None) -> None:
    """Prints a table of the laws, what each looked at and how often it is broken; then sentences, each on a line."""
    console = console or Console()
    table = Table("law", "looked at", "", title=f"The laws of {verification.warehouse}")
    for law in verification.laws:
        verdict = styled(f"{law.broken:,} BREACHES", "red") if law.broken else styled("holds", "green")
        table.add_row(law.name, law.looked_at, verdict)
    console.print(table)
    for sentence in _sentences(verification):
        console.print(sentence, soft_wrap=True)


def _sentences(verification: Verification) -> Iterator[str]:
    """What each law tells, then its breaches."""
    for law in verification.laws:
        for told in law.told:
            yield f"told: {told}"
    for law in verification.laws:
        for breach in law.breaches:
            yield f"BREACH: {breach}"
        if law.broken > len(law.breaches) > 0:
            yield f"BREACH: {law.name}: {law.broken:,} breaches in all, of which {len(law.breaches)} are shown"
