"""The tables of a warehouse in a Spark session of the caller's own: a notebook, a job, a shell."""

from pyspark.sql import SparkSession

from tidemark.pipeline.reading.sql_views import views
from tidemark.pipeline.tables.engines import Engine


def spark_views(spark: SparkSession, warehouse: str) -> list[str]:
    """Creates temporary views of the tables of a warehouse, and returns their names.

    Each table for readers has a view of its name; times are timestamps. Each report `NAME` also has `NAME_live`, with
    open windows and the `state` of each. A view reads the newest version of its tables at each query. Call it again
    after a report was added.

    `spark` must read Delta Lake, for example by `delta.configure_spark_with_delta_pip` of the package delta-spark, and
    have a client of the store of `warehouse`. Raises SetUpError if there is no warehouse.
    """
    made = views(warehouse, Engine.SPARK)
    for view in made:
        spark.sql(view.temporary())
    return [view.name for view in made]
