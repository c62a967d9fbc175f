"""Errors of producing, by who can mend them and how the process ends.

ProducerError
├── SetupError      exit 2: an option, the topic or the broker's address is wrong
└── DeliveryError   exit 1: the broker took the run but not every record of it
"""


class ProducerError(Exception):
    """A failure that one sentence explains; its text is that sentence."""

    exit_code = 1


class SetupError(ProducerError):
    """Nothing was sent: the person who started the run can correct it."""

    exit_code = 2


class DeliveryError(ProducerError):
    """Records were sent but not acknowledged, so no truth can be told about the run."""
