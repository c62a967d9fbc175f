"""`tidemark live`: the SQL of a report's live view, for the engine of whoever reads it."""

from pipeline.results.layout import stored_report
from pipeline.results.live_view import live_sql, view_name
from pipeline.tables.engines import Engine
from pipeline.tables.ledger import require_warehouse
from pipeline.tables.schemas import CORRECTIONS, is_table


def statement(warehouse: str, report: str, engine: str) -> str:
    """The statement that makes the view, as of what the warehouse has; for delta-rs, which has none, the query.

    Raises SetUpError where there is no warehouse, or the report cannot have a view.
    """
    require_warehouse(warehouse)
    corrected = is_table(CORRECTIONS.uri(warehouse))
    query = live_sql(warehouse, stored_report(report, warehouse), Engine(engine), corrected=corrected).strip()
    # Spark keeps a view on paths for its session only.
    return query if engine == Engine.DELTA_RS else f"CREATE OR REPLACE TEMPORARY VIEW {view_name(report)} AS\n{query}"
