"""Catalogs, types and functions of PostgreSQL that its clients use and DuckDB lacks.

Relations are in the schema `stored.postgres`, and replace those of DuckDB: they list the views, and nothing else.
"""

from collections.abc import Mapping
from typing import Final

from tidemark.pipeline.sql_server.client_settings import VERSION
from tidemark.pipeline.sql_server.pg_types import ITEMS, TEXT, TYPES


def _case_sql(subject: str, cases: Mapping[str, str], otherwise: str) -> str:
    """Returns a CASE expression: `cases` are values by patterns of LIKE."""
    whens = " ".join(f"WHEN {subject} LIKE '{pattern}' THEN {value}" for pattern, value in cases.items())
    return f"CASE {whens} ELSE {otherwise} END"


_TYPE_NAME_SQL: Final = _case_sql(
    "data_type", {kind.pattern: "'ARRAY'" if kind.oid in ITEMS else f"'{kind.sql_name}'" for kind in TYPES}, "'text'"
)
_TYPE_OID_SQL: Final = _case_sql("data_type", {kind.pattern: str(kind.oid) for kind in TYPES}, str(TEXT))
_FORMAT_TYPE_SQL: Final = _case_sql("oid::VARCHAR", {str(kind.oid): f"'{kind.sql_name}'" for kind in TYPES}, "'text'")
_TYPE_ROWS: Final = (
    (kind.oid, kind.name, kind.size, kind.category, ITEMS.get(kind.oid, 0), kind.array_oid, kind.functions)
    for kind in TYPES
)
_TYPE_FUNCTIONS_SQL: Final = ", ".join(
    f"union_value(name := functions || '{suffix}')::regproc AS {column}"
    for column, suffix in {"typinput": "in", "typoutput": "out", "typreceive": "recv", "typsend": "send"}.items()
)
_ROLE_SQL: Final = """10 AS oid, 'tidemark' AS rolname, false AS rolsuper, true AS rolinherit, false AS rolcreaterole,
false AS rolcreatedb, true AS rolcanlogin, false AS rolreplication, false AS rolbypassrls, -1 AS rolconnlimit,
NULL::VARCHAR AS rolpassword, NULL::TIMESTAMPTZ AS rolvaliduntil, NULL::VARCHAR[] AS rolconfig"""


def _empty_sql(columns: str) -> str:
    """Returns a query without rows. `columns` are names, with `:VARCHAR` or another type unless it is BIGINT."""
    named = (column.partition(":") for column in columns.split())
    values = (f"NULL::{kind or 'BIGINT'} AS {name}" for name, _, kind in named)
    return f"SELECT {', '.join(values)} WHERE false"


RELATIONS: Final = {
    # DuckDB's own has type numbers that PostgreSQL does not have.
    "pg_attribute": f"""SELECT table_oid AS attrelid, column_name AS attname, column_index AS attnum, 0 AS attndims,
      -1 AS attlen, ({_TYPE_OID_SQL})::UINTEGER AS atttypid,
      CASE WHEN data_type LIKE 'DECIMAL%' THEN numeric_precision * 65536 + numeric_scale + 4 ELSE -1 END AS atttypmod,
      NOT is_nullable AS attnotnull, false AS atthasdef, false AS attisdropped, '' AS attidentity, '' AS attgenerated,
      true AS attislocal, 0 AS attinhcount, 0 AS attcollation, -1 AS attstattarget, NULL AS attacl, 'p' AS attstorage,
      '' AS attcompression, NULL::VARCHAR[] AS attoptions, NULL::VARCHAR[] AS attfdwoptions
      FROM duckdb_columns() WHERE database_name = 'tidemark' AND schema_name = 'main'""",  # noqa: S608 - our own names
    "pg_class": """SELECT * REPLACE (NULL::VARCHAR[] AS reloptions, NULL::VARCHAR[] AS relacl, 10 AS relowner),
      false AS relforcerowsecurity, 1259 AS tableoid FROM pg_catalog.pg_class
      WHERE oid IN (SELECT view_oid FROM duckdb_views() WHERE database_name = 'tidemark' AND schema_name = 'main')""",
    "pg_namespace": """SELECT * REPLACE (10 AS nspowner) FROM pg_catalog.pg_namespace
      WHERE oid IN (SELECT oid FROM duckdb_schemas() WHERE database_name = 'tidemark' AND schema_name = 'main')
      UNION ALL SELECT * REPLACE (11 AS oid, 'pg_catalog' AS nspname, 10 AS nspowner)
      FROM (SELECT * FROM pg_catalog.pg_namespace LIMIT 1)""",
    "pg_type": f"""SELECT oid::UINTEGER AS oid, typname, 11 AS typnamespace, 10 AS typowner, typlen,
      typlen BETWEEN 1 AND 8 AS typbyval, 'b' AS typtype, typcategory, false AS typispreferred, true AS typisdefined,
      ',' AS typdelim, 0 AS typrelid,
      typelem::UINTEGER AS typelem, typarray::UINTEGER AS typarray, {_TYPE_FUNCTIONS_SQL}, 'i' AS typalign,
      'p' AS typstorage, false AS typnotnull, 0 AS typbasetype, -1 AS typtypmod, 0 AS typndims, 0 AS typcollation,
      NULL::VARCHAR AS typdefault, NULL::VARCHAR[] AS typacl
      FROM (VALUES {", ".join(map(str, _TYPE_ROWS))})
      AS rows(oid, typname, typlen, typcategory, typelem, typarray, functions)""",  # noqa: S608 - our own names
    "pg_database": """SELECT 1 AS oid, 'tidemark' AS datname, 10 AS datdba, 6 AS encoding, 'C' AS datcollate,
      'C' AS datctype, false AS datistemplate, true AS datallowconn, -1 AS datconnlimit, 1663 AS dattablespace,
      NULL::VARCHAR[] AS datacl""",
    "pg_tablespace": "SELECT 1663 AS oid, 'pg_default' AS spcname, 10 AS spcowner, NULL::VARCHAR[] AS spcacl",
    "pg_roles": f"SELECT {_ROLE_SQL}",
    "pg_authid": f"SELECT {_ROLE_SQL}",
    "pg_user": "SELECT 'tidemark' AS usename, 10 AS usesysid, false AS usecreatedb, false AS usesuper",
    "pg_settings": """SELECT unnest(map_keys(getvariable('settings'))) AS name,
      unnest(map_values(getvariable('settings'))) AS setting, NULL::VARCHAR AS unit""",
    "pg_views": """SELECT schema_name AS schemaname, view_name AS viewname, 'tidemark' AS viewowner, sql AS definition
      FROM duckdb_views() WHERE database_name = 'tidemark' AND schema_name = 'main'""",
    "pg_tables": "SELECT * FROM pg_catalog.pg_tables WHERE false",
    "pg_am": _empty_sql("oid amname:VARCHAR amhandler:VARCHAR amtype:VARCHAR"),
    "pg_auth_members": _empty_sql("roleid member grantor admin_option:BOOLEAN"),
    "pg_cast": _empty_sql("oid castsource casttarget castfunc castcontext:VARCHAR"),
    "pg_collation": _empty_sql("oid collname:VARCHAR collnamespace"),
    "pg_extension": _empty_sql("oid extname:VARCHAR extowner extnamespace extversion:VARCHAR"),
    "pg_foreign_server": _empty_sql("oid srvname:VARCHAR srvfdw"),
    "pg_foreign_table": _empty_sql("ftrelid ftserver ftoptions:VARCHAR[]"),
    "pg_inherits": _empty_sql("inhrelid inhparent inhseqno"),
    "pg_language": "SELECT 14 AS oid, 'sql' AS lanname",
    "pg_matviews": _empty_sql("schemaname:VARCHAR matviewname:VARCHAR matviewowner:VARCHAR definition:VARCHAR"),
    "pg_opclass": _empty_sql("oid opcmethod opcname:VARCHAR opcnamespace opcdefault:BOOLEAN opcintype"),
    "pg_partitioned_table": _empty_sql("partrelid partstrat:VARCHAR"),
    "pg_policy": _empty_sql(
        "oid polname:VARCHAR polrelid polcmd:VARCHAR polpermissive:BOOLEAN polroles:BIGINT[] polqual polwithcheck"
    ),
    "pg_proc": "SELECT *, false AS proiswindow FROM pg_catalog.pg_proc WHERE false",
    "pg_publication": _empty_sql("oid pubname:VARCHAR puballtables:BOOLEAN"),
    "pg_publication_rel": _empty_sql("oid prpubid prrelid"),
    "pg_range": _empty_sql("rngtypid rngsubtype"),
    "pg_rewrite": _empty_sql("oid rulename:VARCHAR ev_class ev_type:VARCHAR ev_enabled:VARCHAR is_instead:BOOLEAN"),
    "pg_shdescription": _empty_sql("objoid classoid description:VARCHAR"),
    "pg_trigger": _empty_sql(
        "oid tgrelid tgname:VARCHAR tgfoid tgtype tgenabled:VARCHAR tgisinternal:BOOLEAN "
        "tgconstraint tgdeferrable:BOOLEAN tginitdeferred:BOOLEAN"
    ),
}
"""Queries of the relations of `pg_catalog` that differ from DuckDB's, by name."""
VIEWS_OF_STANDARD: Final = {
    "tables": "SELECT * FROM information_schema.tables WHERE table_catalog = 'tidemark' AND table_schema = 'main'",
    "columns": f"""SELECT * REPLACE ({_TYPE_NAME_SQL} AS data_type) FROM information_schema.columns
      WHERE table_catalog = 'tidemark' AND table_schema = 'main'""",  # noqa: S608 - our own names
    "views": "SELECT * FROM information_schema.views WHERE table_catalog = 'tidemark' AND table_schema = 'main'",
    "schemata": "SELECT * FROM information_schema.schemata WHERE catalog_name = 'tidemark' AND schema_name = 'main'",
}
"""Queries of the views of `information_schema`, which list the views, by name."""
_FORMATS: Final = (
    *(("FMMonth", "%B"), ("FMDay", "%A"), ("IYYY", "%G"), ("YYYY", "%Y"), ("HH24", "%H"), ("HH12", "%I")),
    *(("DDD", "%j"), ("Mon", "%b"), ('"T"', "T"), ("YY", "%y"), ("MM", "%m"), ("DD", "%d"), ("Dy", "%a"), ("HH", "%I")),
    *(("MI", "%M"), ("SS", "%S"), ("MS", "%g"), ("US", "%f"), ("AM", "%p"), ("PM", "%p"), ("IW", "%V")),
)
"""Parts of formats of `to_char`, and those of `strftime`. A part comes after those that it is part of."""


def _to_char_sql() -> str:
    """Returns the body of `to_char(instant, form)`: an error for other parts of a format than `_FORMATS`."""
    form = "form"
    for part, known in _FORMATS:
        form = f"replace({form}, '{part}', '{known}')"
    return (
        f"CASE WHEN regexp_full_match({form}, '(%[A-Za-z]|[^A-Za-z]|T)*') THEN strftime(instant, {form}) "
        "ELSE error('to_char: the format ' || form || ' is not supported') END"
    )


FUNCTIONS: Final = {
    '"~^"(text, pattern)': "regexp_matches(text, pattern)",
    '"!~^"(text, pattern)': "NOT regexp_matches(text, pattern)",
    '"~*"(text, pattern)': "regexp_matches(text, pattern, 'i')",
    '"!~*"(text, pattern)': "NOT regexp_matches(text, pattern, 'i')",
    "array_lower(list, dimension)": "CASE WHEN len(list) > 0 THEN 1 END",
    "array_upper(list, dimension)": "len(list)",
    "_pg_expandarray(keys)": "{'x': 0, 'n': 0}",
    "col_description(relation, place)": """(SELECT comment FROM duckdb_columns()
      WHERE table_oid = relation AND column_index = place AND database_name = 'tidemark')""",
    "current_setting(name)": """coalesce(getvariable('settings')[lower(name)],
      error('the setting ' || name || ' does not exist here')),
      (name, missing_ok) AS getvariable('settings')[lower(name)]""",
    "date_bin(width, instant, origin)": "time_bucket(width::INTERVAL, instant, origin)",
    "format_type(oid, modifier)": _FORMAT_TYPE_SQL,
    "inet_server_addr()": "NULL",
    "inet_server_port()": "NULL",
    "json_build_object(a, b, c, d)": "json_object(a::VARCHAR, b, c::VARCHAR, d)",
    "json_agg(item)": "json_group_array(item)",
    "obj_description(relation)": """NULL,
      (relation, catalog) AS (SELECT comment FROM duckdb_views() WHERE view_oid = relation)""",
    "parse_ident(named)": """list_transform(regexp_extract_all(named, '"(?:[^"]|"")*"|[^."]+'),
      lambda part: CASE WHEN part[1] = '"' THEN replace(part[2:-2], '""', '"') ELSE lower(trim(part)) END)""",
    "pg_advisory_unlock_all()": "NULL",
    "pg_backend_pid()": "0",
    "pg_database_size(named)": "0",
    "pg_encoding_to_char(encoding)": "'UTF8'",
    "pg_get_expr(tree, oid)": "NULL, (tree, oid, pretty) AS NULL",
    "pg_get_function_arguments(oid)": "NULL",
    "pg_get_function_identity_arguments(oid)": "NULL",
    "pg_get_function_result(oid)": "NULL",
    "pg_get_indexdef(oid)": "NULL, (oid, part, pretty) AS NULL",
    "pg_get_ruledef(oid)": "NULL, (oid, pretty) AS NULL",
    "pg_get_serial_sequence(named, field)": "NULL",
    "pg_get_triggerdef(oid)": "NULL, (oid, pretty) AS NULL",
    "pg_get_userbyid(oid)": "'tidemark'",
    "pg_get_viewdef(relation)": """(SELECT sql FROM duckdb_views() WHERE view_oid::VARCHAR = relation::VARCHAR),
      (relation, pretty) AS (SELECT sql FROM duckdb_views() WHERE view_oid::VARCHAR = relation::VARCHAR)""",
    "pg_is_in_recovery()": "false",
    "pg_relation_is_publishable(oid)": "false",
    "pg_relation_size(oid)": "0",
    "pg_table_size(oid)": "0",
    "pg_tablespace_location(oid)": "''",
    "pg_total_relation_size(oid)": "0",
    "quote_literal(text)": """'''' || replace(text, '''', '''''') || ''''""",
    "quote_ident(named)": """CASE WHEN regexp_full_match(named, '[a-z_][a-z0-9_]*') AND named NOT IN (
      SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved') THEN named
      ELSE '"' || replace(named, '"', '""') || '"' END""",
    "shobj_description(oid, catalog)": "NULL",
    "string_to_array(text, separator)": "string_split(text, separator)",
    "to_char(instant, form)": _to_char_sql(),
    "to_date(text, form)": "text::DATE",
    "to_regclass(named)": """coalesce(TRY_CAST(named AS BIGINT),
      (SELECT max(oid) FROM stored.postgres.pg_class WHERE relname = parse_ident(named)[-1]))""",
    "to_regtype(named)": "(SELECT max(oid) FROM stored.postgres.pg_type WHERE typname = named)",
    "to_timestamp(text)": "system.main.to_timestamp(text), (text, form) AS text::TIMESTAMPTZ",
    "version()": f"'PostgreSQL {VERSION} (Tidemark)'",
}
"""Functions of PostgreSQL, and how DuckDB computes them."""
CATALOG: Final = (
    *(f"CREATE TYPE {name} AS VARCHAR" for name in ("name", "regclass", "regtype", "regnamespace")),
    "CREATE TYPE regproc AS UNION(number BIGINT, name VARCHAR)",
    "CREATE SCHEMA stored.postgres",
    "CREATE SCHEMA stored.information",
    "SET VARIABLE settings = MAP {'': ''}",
    *(f"CREATE VIEW stored.postgres.{name} AS {query}" for name, query in RELATIONS.items()),
    *(f"CREATE VIEW stored.information.{name} AS {query}" for name, query in VIEWS_OF_STANDARD.items()),
    *(f"CREATE MACRO {name} AS {value}" for name, value in FUNCTIONS.items()),
    "CREATE MACRO string_to_array(text, separator) AS TABLE SELECT string_split(text, separator)",
)
"""Statements that make types, functions and relations of PostgreSQL that DuckDB does not have."""
