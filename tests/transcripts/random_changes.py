"""Settings that change at a restart by chance: any of those that may, one or a few of them at a time."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

MARKERS = ["event_type = 'click'", "user_id = 'b'"]
Reports = Mapping[str, Mapping[str, Any]]


class Changes:
    """Draws what changes; `every` are all reports that there may ever be, by name, `totals` what they are if any."""

    def __init__(self, chance: Random, pace: int, every: Reports, totals: Mapping[str, str]) -> None:
        self._chance, self._pace = chance, pace
        self._every, self._totals = every, totals

    def __call__(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Chooses settings that differ from those before, or may: a restart can say the same once more."""
        some = self._chance.sample([self._strategy, self._of, self._bound, self._guards, self._silence, self._kept], 2)
        what: list[Callable[[Mapping[str, Any]], dict[str, Any]]] = [self._reports, *some]
        changed = dict[str, Any]()
        for change in self._chance.sample(what, self._chance.randint(1, len(what))):
            changed |= change(settings)
        return changed

    def _seconds(self, *numbers: int) -> str:
        return f"{self._chance.choice(numbers) * self._pace}s"

    def _reports(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Some go, some come or come back, some get another lateness."""
        there, chance = settings["reports"], self._chance
        names = [name for name in self._every if chance.random() < (0.7 if name in there else 0.4)]
        reports = {name: dict(there.get(name, self._every[name])) for name in names or [chance.choice([*there])]}
        for report in reports.values():
            if chance.random() < 0.5:
                report["allowed_lateness"] = self._seconds(0, 5, 15, 60)
        return {"reports": reports}

    def _strategy(self, settings: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - as others are asked
        strategy = self._chance.choice(["bounded", "bounded", "punctuated", "time_lag"])
        marker = self._chance.choice(MARKERS) if strategy == "punctuated" else ""
        return {"strategy": strategy, "marker": marker, "lag": self._seconds(0, 5, 20)}

    def _of(self, settings: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - as others are asked
        return {"of": self._chance.choice(["event", "event", "ingestion", "processing"])}

    def _bound(self, settings: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - as others are asked
        return {"bound": self._seconds(0, 3, 8, 20)}

    def _guards(self, settings: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - as others are asked
        most_ahead = self._chance.choice(["off", self._seconds(20, 60, 100)])
        return {"max_future_skew": self._seconds(5, 60, 100), "max_ahead_of_clock": most_ahead}

    def _silence(self, settings: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - as others are asked
        return {"idle_timeout": self._seconds(10, 30), "all_idle": self._chance.choice(["hold", "advance"])}

    def _kept(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        return {"totals": None if settings["totals"] else self._totals}
