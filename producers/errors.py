"""Errors of the producers and their exit codes.

ProducerError
├── SetUpError      exit 2: an option, the topic or the broker's address is wrong
└── DeliveryError   exit 1: the broker did not acknowledge every record
"""


class ProducerError(Exception):
    """A failure; its text is one sentence that explains it."""

    exit_code = 1


class SetUpError(ProducerError):
    """A configuration error; nothing was sent."""

    exit_code = 2


class DeliveryError(ProducerError):
    """Records were sent but not acknowledged, so the run writes no truth file."""
