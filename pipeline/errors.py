"""Every error Tidemark raises on purpose, drawn once.

TidemarkError
├── SetUpError        a person must change something first: exit code 2, one sentence, no traceback
│   └── Unreachable   no broker or store answered, or let us in; once the service was at work the world will mend that
├── Replaced          a newer service has taken this warehouse over: this one must stop
├── BrokenChain       a batch does not go on from the last one: a defect, and nothing was committed
├── TransientError    the world may get better by itself: the service tries again, with pauses
├── NothingCounted    records were read to the end of the topic, and not one was an event that counts
└── JavaEnded         Spark's Java process is gone: this one ends too, for whoever starts it again

Bad data is not an error: it becomes a dead letter.
"""


class TidemarkError(Exception):
    """Base of the errors that Tidemark raises on purpose."""


class SetUpError(TidemarkError):
    """Settings, files or services are not as they must be; the message says what was found and what to do."""


class Unreachable(SetUpError):
    """A broker or store did not answer, or refused: at the first start a person must look, later it is transient."""


class Replaced(TidemarkError):
    """Another service opened a newer epoch on the same warehouse; nothing more may be committed here."""


class BrokenChain(TidemarkError):
    """A batch that does not go on where the ledger ends; it was refused, and a start reads on from the ledger."""


class TransientError(TidemarkError):
    """A broker or store did not answer; what was not committed is read again after a pause."""


class NothingCounted(TidemarkError):
    """The whole topic was read and no record counted: the tables would be empty without a word."""


class JavaEnded(TidemarkError):
    """The Java process in which Spark runs has ended, and no process can have a second one."""
