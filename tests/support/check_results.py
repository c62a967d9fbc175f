"""Results of `tidemark check`, for its tests with and without a broker."""

from collections.abc import Iterable

from tidemark.pipeline.commands.preflight.check_result import CheckResult, Level


def worst(seen: Iterable[CheckResult]) -> dict[str, CheckResult]:
    """Returns the worst result of each subject."""
    kept: dict[str, CheckResult] = {}
    for one in seen:
        if one.subject not in kept or [*Level].index(one.level) > [*Level].index(kept[one.subject].level):
            kept[one.subject] = one
    return kept
