"""Tidemark's one package. Its parts are the folders of the repository, to which it has links.

The front door: `open_service(settings)` gives a service that has opened its epoch, and `spark_views(spark, warehouse)`
its tables in a Spark session of the caller's own. Names are imported at their first use, because most commands need no
Spark.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tidemark.pipeline.app import open_service
    from tidemark.pipeline.reading.spark_views import spark_views
    from tidemark.pipeline.settings.model import Settings

__all__ = ["Settings", "open_service", "spark_views"]
_HOMES: Final = {
    "Settings": "tidemark.pipeline.settings.model",
    "open_service": "tidemark.pipeline.app",
    "spark_views": "tidemark.pipeline.reading.spark_views",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
