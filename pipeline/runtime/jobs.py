"""Jobs on tables, assigned by the tables and exported as metrics."""

from enum import StrEnum


class LargeJob(StrEnum):
    """A job that the driver does if it is small, and Spark's executors do if it is large."""

    PUBLICATION = "publication"
    WRITE_AHEAD = "write_ahead"


class JobRunner(StrEnum):
    """The processes that do a job."""

    DRIVER = "driver"
    EXECUTORS = "executors"
