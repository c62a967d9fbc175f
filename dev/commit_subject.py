"""The hook for commit messages: a subject is imperative and has at most 72 characters."""

import re
import sys
from pathlib import Path
from typing import Final

LONGEST: Final = 72
_BY_GIT: Final = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")
_NOT_IMPERATIVE: Final = re.compile(r"(The|An?|This|That|What|How|[A-Z][a-z]+(ed|ing|[^s]s))\b")
_VERBS: Final = ("Bring", "Embed", "Exceed", "Feed", "Need", "Proceed", "Seed", "Shed", "Speed", "Focus", "Alias")


def fault(subject: str) -> str | None:
    """Returns what is wrong with a subject, None if nothing is."""
    if subject.startswith(_BY_GIT):
        return None
    if len(subject) > LONGEST:
        return f"the subject has {len(subject)} characters, of at most {LONGEST}: move the reason to the body"
    if not subject[:1].isupper() or subject.endswith("."):
        return "a subject starts with a capital letter and ends without a full stop"
    noun = _NOT_IMPERATIVE.match(subject)
    if noun and noun[1] not in _VERBS:
        return f"a subject starts with an imperative ('Add', 'Fix'), not with '{noun[1]}'"
    return None


if __name__ == "__main__":
    message = Path(sys.argv[1]).read_text()
    reason = fault(next(iter(message.splitlines()), ""))
    sys.exit(f"commit message: {reason}" if reason else 0)
