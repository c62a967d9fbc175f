"""How a setting is written, told beside its type: help shows it, pydantic passes it over."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Written:
    """The form of a value, such as `DURATION` or `earliest|latest`."""

    form: str
