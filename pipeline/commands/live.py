"""`tidemark live`: the SQL of a report's live view, for the engine of whoever reads it."""

from deltalake import DeltaTable

from pipeline.tables.engines import Engine
from pipeline.tables.live import live_sql, view_name
from pipeline.tables.schemas import CORRECTIONS


def live_view(warehouse: str, report: str, engine: Engine) -> str:
    """The query of the view, as of what the warehouse has. Raises SetUpError where it cannot have one."""
    corrected = DeltaTable.is_deltatable(CORRECTIONS.uri(warehouse))
    return live_sql(warehouse, report, engine, corrected=corrected)


def print_view(warehouse: str, report: str, engine: str) -> None:
    """Prints the statement that makes the view; for delta-rs, which has none, the query."""
    query = live_view(warehouse, report, Engine(engine)).strip()
    if engine == Engine.DELTA_RS:
        print(query)
    else:
        # Spark keeps a view on paths for its session only.
        print(f"CREATE OR REPLACE TEMPORARY VIEW {view_name(report)} AS\n{query}")
