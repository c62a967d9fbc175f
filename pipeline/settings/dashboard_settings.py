"""The section `[dashboard]`."""

from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode

from tidemark.pipeline.settings.report_settings import Section

Panel = Literal["figures", "chart", "pages", "entries", "exits", "users", "further", "now"]
"""A part of the first page; `further` are the lists of all other keys."""
PANELS: Final[tuple[Panel, ...]] = ("figures", "chart", "pages", "entries", "exits", "users", "further", "now")


def _split(value: Any) -> Any:
    """Returns the names in a text, with commas between them; other values unchanged."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


def _each_once(panels: tuple[Panel, ...]) -> tuple[Panel, ...]:
    if not panels:
        raise ValueError("name at least one panel")
    twice = next((panel for panel in panels if panels.count(panel) > 1), None)
    if twice:
        raise ValueError(f"{twice} is named twice: name each panel once")
    return panels


class DashboardSettings(Section):
    """The web page of `tidemark dashboard`."""

    host: str = "127.0.0.1"
    """Address to listen on; an address that other machines can reach needs a token."""
    port: Annotated[int, Field(ge=0, le=65535)] = 9478
    """Port to listen on; 0 takes a free port."""
    token: SecretStr | None = None
    """Token that the page asks for; at least 16 characters."""
    token_file: Path | None = None
    """File with that token."""
    panels: Annotated[
        tuple[Panel, ...],
        NoDecode,
        BeforeValidator(_split),
        AfterValidator(_each_once),
        "PANEL,...",
    ] = PANELS
    """Panels of the first page in their order: `figures`, `chart`, `pages`, `entries`, `exits`, `users`, `further` (the
    lists of all other keys), `now` (visitors now). A list in a file, else names with commas between them."""
