"""Reports by dimensions of which published windows have only the largest values: what they cannot have in addition."""

from tidemark.pipeline import columns as c
from tidemark.pipeline.event_time.reports import Report


def require_rankable(report: Report) -> None:
    """Raises ValueError if a dimension of the report has a `top`, and its values cannot be ranked in windows."""
    for dimension in report.limited:
        has_top = f"report {report.name} has the key {dimension.name}, which has a top"
        if not report.windows.ends_are_known:
            raise ValueError(
                f"{has_top}: it ranks the values of a window, but sessions and counts of events are windows of one "
                "value. Choose windows of time, or a dimension without a top"
            )
        personal = [each.name for each in report.dimensions if each.personal]
        people = [*([c.USER_ID] if c.USER_ID in report.keys else []), *personal]
        if people:
            raise ValueError(
                f"{has_top}, and the key {people[0]}: to erase a person would change which values are the largest. "
                "Make two reports, or choose a dimension without a top"
            )
        states = [state for measure in report.chosen_measures for state in measure.states]
        if dimension.others in (*report.keys, *report.measures, *states):
            raise ValueError(
                f"{has_top}, so that it has a column {dimension.others}, and another column of this name: rename one "
                "of the two"
            )
