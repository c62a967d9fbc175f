"""Outcomes of bounds, as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pipeline.errors import SetUpError
from pipeline.observe.tradeoff import duration
from pipeline.time.tradeoff import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INCHES: Final = (8, 6)
FORMATS: Final = (".pdf", ".png", ".svg")


def draw(outcomes: Sequence[Outcome], now_ms: int, file: Path) -> None:
    """Share of events too late and delay of results, by bound, one above the other; the file's name says the format.

    Raises SetUpError without matplotlib, or where the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, which the service does without
    except ImportError as error:
        raise SetUpError("--picture needs matplotlib: install tidemark[picture]") from error
    figure = Figure(_INCHES, layout="constrained")
    figure.suptitle(f"What other bounds would have made of {outcomes[0].events:,} events")
    shares, delays = figure.subplots(2, sharex=True)
    _draw_shares(shares, outcomes)
    _draw_delays(delays, outcomes)
    for axes in (shares, delays):
        axes.axvline([one.bound_ms for one in outcomes].index(now_ms), color="grey", linestyle="--", zorder=0)
        axes.grid(axis="y", alpha=0.3)
    delays.set_xticks(range(len(outcomes)), [_label(one.bound_ms, now_ms) for one in outcomes])
    delays.set_xlabel("out-of-orderness bound (time.bound)")
    try:
        figure.savefig(file, dpi=150)
    except OSError as error:
        raise SetUpError(f"the picture {file} cannot be written: {error.strerror}") from error


def _draw_shares(axes: "Axes", outcomes: Sequence[Outcome]) -> None:
    axes.plot([one.share * 100 for one in outcomes], "o-", color="tab:red")
    axes.set_ylabel("events too late (%)")
    axes.set_ylim(0, max(1.15 * 100 * max(one.share for one in outcomes), 0.01))
    axes.set_xlim(-0.3, len(outcomes) - 0.5)  # room for the last number
    for place, one in enumerate(outcomes):
        at = place, one.share * 100
        axes.annotate(f"{one.share:.2%}", at, (5, 5), textcoords="offset points", fontsize="small")


def _draw_delays(axes: "Axes", outcomes: Sequence[Outcome]) -> None:
    known = [(place, one.later_ms) for place, one in enumerate(outcomes) if one.later_ms]
    places = [place for place, _ in known]
    axes.plot(places, [later[0] / 1000 for _, later in known], "o-", label="median of windows")
    axes.plot(places, [later[1] / 1000 for _, later in known], "^:", label="95th percentile")
    axes.set_ylabel("results later than now (s)")
    axes.legend()


def _label(bound_ms: int, now_ms: int) -> str:
    return duration(bound_ms) + ("\n(now)" if bound_ms == now_ms else "")
