"""Personal dimensions where users have pseudonyms: nothing else may read their fields, or it would show the ids."""

import re
from collections.abc import Iterator, Mapping

from tidemark.pipeline import columns as c
from tidemark.pipeline.measures import MEASURES
from tidemark.pipeline.settings.measure_settings import MeasureSettings
from tidemark.pipeline.settings.report_settings import DimensionSettings, ReportSettings
from tidemark.schemas.fields import EventFields


def require_only_pseudonyms(
    dimensions: Mapping[str, DimensionSettings],
    measures: Mapping[str, MeasureSettings],
    conditions: Mapping[str, str],
    fields: EventFields,
) -> None:
    """Raises ValueError if a condition, a measure, another dimension or the mapping reads a personal dimension's field.

    `conditions` are SQL by the name of the setting.
    """
    for name, dimension in dimensions.items():
        if dimension.personal:
            paths = _paths(dimensions, measures, fields)
            found = [setting for setting, path in paths if setting != name and _meet(dimension.path, path)]
            found += [
                setting for setting, sql in _all_sql(dimensions, measures, conditions) if _reads(sql, dimension.path)
            ]
            if found:
                raise ValueError(
                    f"{found[0]} reads {dimension.path}, but {name} is personal, and privacy.pseudonym_key_file "
                    "replaces its values by pseudonyms: leave out one of the two"
                )


def require_no_sessions(reports: Mapping[str, ReportSettings], dimensions: Mapping[str, DimensionSettings]) -> None:
    """Raises ValueError if a report counts where users' sessions began, and erasing a dimension would change that."""
    for name, report in reports.items():
        personal = sorted(key for key in report.keys if key in dimensions and dimensions[key].personal)
        of_sessions = [measure for measure in report.measures if measure in MEASURES and MEASURES[measure].of_sessions]
        if personal and of_sessions:
            raise ValueError(
                f"report {name} has {of_sessions[0]} and the personal key {personal[0]}: if events of a person there "
                "were erased, sessions of other users would begin in other rows; make two reports"
            )


def require_no_lists(
    dimensions: Mapping[str, DimensionSettings], measures: Mapping[str, MeasureSettings], fields: EventFields
) -> None:
    """Raises ValueError if a measure lists ids of people, which would remain in rows of others after an erasure."""
    people = [c.USER_ID, *fields.users, *(each.path for each in dimensions.values() if each.personal)]
    for name, measure in measures.items():
        own = measure.definition(name)
        if own.function.is_list:
            for path in people:
                if (own.path and _meet(path, own.path)) or _reads(own.sql, path):
                    raise ValueError(
                        f"measures.{name} lists {path}, which has ids of people: they would remain in other rows when "
                        "a person is erased. Count them by unique, or list another field"
                    )


def where_of(reports: Mapping[str, ReportSettings]) -> dict[str, str]:
    """Returns the conditions of reports, by the name of the setting."""
    return {f"reports.{name}.where": report.where for name, report in reports.items()}


def _paths(
    dimensions: Mapping[str, DimensionSettings], measures: Mapping[str, MeasureSettings], fields: EventFields
) -> Iterator[tuple[str, str]]:
    yield from ((name, dimension.path) for name, dimension in dimensions.items() if dimension.path)
    yield from ((name, path) for name, measure in measures.items() if (path := measure.definition(name).path))
    roles = {"user": fields.users, "kind": fields.kind_fields, "time": [fields.time], "page": [fields.page]}
    for role, paths in (roles | {"event_id": [fields.event_id]}).items():
        yield from ((f"schemas.mapping.{role}", path) for path in paths)


def _all_sql(
    dimensions: Mapping[str, DimensionSettings], measures: Mapping[str, MeasureSettings], conditions: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    yield from conditions.items()
    yield from ((name, dimension.sql) for name, dimension in dimensions.items())
    yield from ((name, measure.definition(name).sql) for name, measure in measures.items())


def _reads(sql: str, path: str) -> bool:
    """Returns whether SQL may name the outermost field of a path."""
    field = re.escape(path.partition(".")[0])
    return re.search(rf"(?<!\w){field}(?!\w)", sql, re.IGNORECASE) is not None


def _meet(path: str, other: str) -> bool:
    """Returns whether one path is the other, or leads on from it; names of fields may differ in case."""
    first, second = f"{path}.".lower(), f"{other}.".lower()
    return first.startswith(second) or second.startswith(first)
