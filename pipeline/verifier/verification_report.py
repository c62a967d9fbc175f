"""Prints a verification on a terminal."""

from collections.abc import Iterator

from tidemark.command_line.counts import counted
from tidemark.command_line.terminal import Console, Table, styled
from tidemark.pipeline.verifier.verification import Verification


def show(verification: Verification, console: Console | None = None) -> None:
    """Prints a table of the invariants with what was checked and the number of violations, then one sentence a line."""
    console = console or Console()
    table = Table("invariant", "checked", "", title=f"The invariants of {verification.warehouse}")
    for finding in verification.findings:
        count = finding.violation_count
        verdict = styled(counted(count, "VIOLATION", "VIOLATIONS"), "red") if count else styled("holds", "green")
        table.add_row(finding.name, finding.checked, verdict)
    console.print(table)
    for sentence in sentences(verification):
        console.print(sentence, soft_wrap=True)


def sentences(verification: Verification) -> Iterator[str]:
    """Yields the notes of all invariants, then their violations."""
    for finding in verification.findings:
        for note in finding.notes:
            yield f"note: {note}"
    for finding in verification.findings:
        count, violations = finding.violation_count, finding.violations
        for violation in violations:
            yield f"VIOLATION: {violation}"
        if count > len(violations) > 0:
            total = counted(count, "violation")
            yield f"VIOLATION: {finding.name}: {total} in all, of which {len(violations)} are shown"
