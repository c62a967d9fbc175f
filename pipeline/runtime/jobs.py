"""Jobs on tables, as the tables give them out and the metrics show them."""

from enum import StrEnum


class Job(StrEnum):
    """A job that is done by the driver where it is small, and by Spark's executors where it is large."""

    PUBLICATION = "publication"
    WRITE_AHEAD = "write_ahead"


class By(StrEnum):
    """Who did a job."""

    DRIVER = "driver"
    EXECUTORS = "executors"
