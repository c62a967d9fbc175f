"""Whether a day is over, in words: by the clock, and by the watermark. Pure."""

from pipeline.commands.books import Books
from pipeline.commands.report.day import Day
from pipeline.commands.times import span_of, time_of
from pipeline.event_time import lateness
from pipeline.event_time.report import Report


def standing(day: Day, now: int, books: Books, report: Report | None, passed_at: int | None) -> str:
    """A sentence. `report` is the one whose windows are shown, `passed_at` when the watermark came to the day's end."""
    if now < day.start:
        return f"The day has not begun: it begins at {time_of(day.start, day.zone)}."
    if now < day.end:
        return f"The day goes on for {span_of(day.end - now)}: this is as of {time_of(now, day.zone)}."
    if passed_at is None:
        where = "there is none yet" if books.watermark is None else f"it is at {time_of(books.watermark, day.zone)}"
        return f"The day is over by the clock, but the watermark has not come to its end: {where}."
    passed = f"The watermark came to the end of the day at {time_of(passed_at, day.zone)}"
    if report is not None and not lateness.is_closed(day.end, lateness.closed_until(report, books.watermark)):
        return f"{passed}: all windows have fired, and late events may still change the last ones."
    return f"{passed}: what is shown is final, but for what `tidemark correct` adds."
