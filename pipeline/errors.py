"""The errors that Tidemark raises on purpose.

TidemarkError
├── SetUpError        a person must change something first: exit code 2, one sentence, no traceback
│   └── Unreachable   a broker or store did not answer or refused; transient once the service has run
├── Replaced          a newer service has taken over this warehouse: this service must stop
├── BrokenChain       a batch does not continue the last one: a defect, and nothing was committed
├── TransientError    may go away by itself: the service retries, with pauses
├── NothingFound      what was named is not in the tables: exit code 3, which a script can test
├── NotComplete       a period is not covered, or not all could be compared: exit code 4, which a script can test
├── NothingCounted    records were read to the end of the topic, and no event counted
└── JavaEnded         Spark's Java process has ended: this process ends too, and its supervisor restarts it

Bad data is not an error: it becomes a dead letter.
"""

import sys
from collections.abc import Callable


class TidemarkError(Exception):
    """Base of the errors that Tidemark raises on purpose."""


class SetUpError(TidemarkError):
    """Settings, files or services are wrong; the message states what was found and what to do."""


class Unreachable(SetUpError):
    """A broker or store did not answer, or refused: final at the first start, transient later."""


class Replaced(TidemarkError):
    """Another service opened a newer epoch on the same warehouse; this service may commit nothing more."""


class BrokenChain(TidemarkError):
    """A batch does not start where the ledger ends; it was refused, and a start continues from the ledger."""


class TransientError(TidemarkError):
    """A broker or store did not answer; uncommitted records are read again after a pause."""


class NothingFound(TidemarkError):
    """No table has the user or the day that was named."""


class NotComplete(TidemarkError):
    """A complete period was asked for, and its figures cover a part of it only; or a comparison lacks a table."""


class NothingCounted(TidemarkError):
    """The whole topic was read and no record counted: the tables would be empty without any warning."""


class JavaEnded(TidemarkError):
    """The Java process in which Spark runs has ended; a process can start Java only once."""


def exit_code_of(act: Callable[[], object]) -> int:
    """Returns 0 after `act`, or 2 after printing the sentence of the SetUpError that it raised."""
    try:
        act()
    except SetUpError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0
