"""`config show` prints a settings file that reads back equal, whatever the sources contain."""

import json
import os
from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from tidemark.kafka_access.addresses import has_credentials
from tidemark.pipeline.commands.config import settings_lines
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.settings.dashboard_settings import PANELS
from tidemark.pipeline.settings.load import read_sources, settings_of
from tidemark.pipeline.settings.model import Settings
from tidemark.pipeline.settings.report_settings import TotalsSettings
from tidemark.pipeline.settings.setting_catalogue import Setting, catalogue
from tidemark.pipeline.settings.site_settings import SiteSettings

SOURCES: Final = ("file", "environment", "flag")
TEXTS: Final = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12).filter(
    lambda text: not has_credentials(text)  # a secret is not shown
)
DURATIONS: Final = st.builds("{}{}".format, st.integers(0, 400), st.sampled_from(["ms", "s", "m", "h", "d"]))
BY_FORM: Final[Mapping[str, st.SearchStrategy[Any]]] = {
    "DURATION": DURATIONS,
    "DURATION|off": DURATIONS | st.just("off"),
    "DURATION|INTEGER": DURATIONS | st.integers(-1, 9),
    "INTEGER": st.integers(-1, 70_000),
    "NUMBER": st.floats(0, 1),
    "POSITION": st.sampled_from(["latest", "timestamp:2024-05-01", 'offsets:{"0": 1}']) | TEXTS.map("group:{}".format),
    "PANEL,...": st.lists(st.sampled_from(PANELS), min_size=1, unique=True).map(",".join),
    "FIELD": st.sampled_from(["", "a", "a.b_c"]) | TEXTS,
}
REPORTS: Final = st.dictionaries(
    st.sampled_from(["a", "b_2"]),
    st.fixed_dictionaries(
        {},
        optional={
            "keys": st.lists(st.sampled_from(["user_id", "page_url", "plan"])),
            "where": TEXTS,
            "measures": st.lists(st.sampled_from(["page_views", "price"]), min_size=1),
            "session_gap": DURATIONS,
            "window": st.sampled_from(
                [{}, {"gap": "5m"}, {"count": 3, "slide": 1}, {"size": "1d", "zone": "Europe/Berlin"}]
            ),
        },
    ),
    max_size=2,
)
ENTRIES: Final[Mapping[str, st.SearchStrategy[Any]]] = {
    "dimensions": st.dictionaries(
        st.sampled_from(["plan", "c_3", "order"]),
        TEXTS
        | st.fixed_dictionaries(
            {}, optional={"path": TEXTS, "sql": TEXTS, "type": st.sampled_from(["text", "integer"]), "zone": TEXTS}
        ),
        max_size=2,
    ),
    "measures": st.dictionaries(
        st.sampled_from(["price", "c_4", "user_id"]),
        st.fixed_dictionaries(
            {}, optional={"sum": TEXTS, "last": st.fixed_dictionaries({"sql": TEXTS}), "count_if": TEXTS}
        ),
        max_size=2,
    ),
    "reports": REPORTS,
    "retention": st.dictionaries(
        st.sampled_from(["user_totals", "dead_letters"]),
        st.fixed_dictionaries({}, optional={"time_travel": DURATIONS, "rows": DURATIONS}),
    ),
    "schemas.mapping.kinds": st.dictionaries(TEXTS, st.sampled_from(["visit", "click", "purchase"]), max_size=3),
    "schemas.mapping.types": st.dictionaries(TEXTS, st.sampled_from(["number", "boolean"]), max_size=3),
    # A name may be that of a secret, which is not shown.
    "spark.conf": st.dictionaries(TEXTS.map("spark.x{}".format), TEXTS, max_size=3),
}
OAUTH: Final = {
    "kafka.security.protocol": "SASL_SSL",
    "kafka.sasl.mechanism": "OAUTHBEARER",
    "kafka.sasl.token_url": "https://tokens",
    "kafka.sasl.client_id": "ann",
    "kafka.sasl.client_secret_file": "secret",
}
COMPANIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "kafka.sasl": {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.username": "ann",
        "kafka.sasl.password_file": "password",
    },
    **dict.fromkeys(["kafka.sasl.token", "kafka.sasl.client", "kafka.sasl.scope"], OAUTH),
    "kafka.security": {"kafka.security.protocol": "SSL"},
    "kafka.tls": {
        "kafka.security.protocol": "SSL",
        "kafka.tls.certificate": "certificate",
        "kafka.tls.key": "key",
    },
    "time.judged": {"time.judged": "arrival"},
    "time.marker": {"time.strategy": "punctuated", "time.marker": "true"},
    "time.strategy": {"time.strategy": "time_lag"},
    "site": {"site.zone": "Europe/Berlin"},
    "window.zone": {"window.size": "1d", "window.zone": "UTC"},
    "window.count": {"window.count": 7},
    "window.gap": {"window.gap": "90s"},
    "window.size": {"window.size": "1h"},
    "window.s": {"window.size": "1h", "window.slide": "1m"},
    "window.step": {"window.size": "1h", "window.step": "1m"},
    "metrics": {
        "metrics.certificate": "certificate",
        "metrics.key": "key",
        "metrics.username": "ann",
        "metrics.password_file": "password",
    },
    "schemas.format": {"schemas.format": "json"},
    "schemas.mapping.types": {"schemas.format": "json", "schemas.mapping.types": {"price": "number"}},
    "schemas.registry": {"schemas.registry.username": "ann", "schemas.registry.password_file": "password"},
}
"""By the beginning of a setting's name, of which the longest holds: settings that it cannot be without."""
SHOWN: Final = [setting for setting in catalogue() if not setting.is_secret]


def setting_of(name: str) -> Setting:
    return next(setting for setting in catalogue() if setting.name == name)


class Given(NamedTuple):
    """The value of a setting in one source."""

    setting: Setting
    value: Any
    source: str


def values(setting: Setting) -> st.SearchStrategy[Any]:
    """Values as a settings file has them; a few are invalid."""
    if setting.is_map:
        return ENTRIES[setting.name]
    return st.sampled_from(setting.choices) if setting.choices else BY_FORM.get(setting.form, TEXTS)


def needed_by(setting: Setting) -> Mapping[str, Any]:
    """Values of settings that the setting cannot be without, its own included."""
    return COMPANIONS.get(max((each for each in COMPANIONS if setting.name.startswith(each)), default="", key=len), {})


@st.composite
def givens(draw: st.DrawFn) -> list[Given]:
    """Some settings, each in some source, after the settings that they cannot be without, in the file."""
    chosen = draw(st.lists(st.sampled_from(SHOWN), min_size=1, max_size=4, unique_by=lambda setting: setting.name))
    if any(setting.name == "time.judged" for setting in chosen):  # neither goes with arrival
        chosen = [setting for setting in chosen if setting.name not in ("time.of", "deduplicate")]
    own = [Given(setting, draw(values(setting)), draw(st.sampled_from(SOURCES))) for setting in chosen]
    needed = {name: value for setting in chosen for name, value in needed_by(setting).items()}
    return [*(Given(setting_of(name), value, "file") for name, value in needed.items()), *own]


def toml(value: Any) -> str:
    match value:
        case str():
            return '"' + "".join(f"\\U{ord(char):08x}" for char in value) + '"'
        case Mapping():
            return "{" + ", ".join(f"{toml(name)} = {toml(entry)}" for name, entry in value.items()) + "}"
        case list():
            return f"[{', '.join(map(toml, value))}]"
        case _:
            return json.dumps(value)


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def loaded(folder: Path, all_given: list[Given]) -> tuple[Settings, list[str]]:
    """The settings of these sources, and the lines that show them. May raise SetUpError."""
    config = folder / "tidemark.toml"
    # A file cannot have a setting twice: the last value holds.
    in_file = {given.setting.name: given.value for given in all_given if given.source == "file"}
    config.write_text("".join(f"{name} = {toml(value)}\n" for name, value in in_file.items()))
    environment = {given.setting.variable: as_text(given.value) for given in all_given if given.source == "environment"}
    flags = {
        given.setting.name: [as_text(given.value)] if given.setting.is_map else as_text(given.value)
        for given in all_given
        if given.source == "flag"
    }
    with patch.dict(os.environ, environment):
        sources = read_sources(flags, config)
        return (settings := settings_of(sources)), [*settings_lines(settings, sources)]


def read_again(folder: Path, lines: list[str]) -> Settings:
    shown = folder / "shown.toml"
    shown.write_text("".join(f"{line}\n" for line in lines))
    return settings_of(read_sources({}, shown))


@pytest.fixture(scope="module", autouse=True)
def bare_environment() -> Iterator[None]:
    with patch.dict(os.environ):
        for name in [name for name in os.environ if name.upper().startswith("TIDEMARK_")]:
            del os.environ[name]
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shown")


@given(all_given=givens())
@example([Given(setting_of("schemas.mapping.kind"), "", "file")])
@example([Given(setting_of("schemas.mapping.kinds"), {}, "flag")])
@example([Given(setting_of("kafka.group_id"), "", "environment")])
@example([Given(setting_of("kafka.group_id"), "a\x7fb\x85\u202e", "file")])
@example([Given(setting_of("warehouse"), "a\nb = 1", "environment")])
def test_settings_are_refused_in_a_sentence_or_read_back_equal(folder: Path, all_given: list[Given]) -> None:
    try:
        settings, lines = loaded(folder, all_given)
    except SetUpError as error:
        event(f"refused: {str(error)[:60]}")
        return
    event("shown")
    assert read_again(folder, lines) == settings


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_every_setting_can_be_set_shown_and_read_back(folder: Path, source: str) -> None:
    """A sample value of each setting; the property test has the others."""
    samples = {"FIELD": "a.b", "INTEGER": 7, "NUMBER": 0.5, "POSITION": "latest", "TEXT": "UTC", "PANEL,...": "now"}
    entries = {
        "dimensions": {"plan": "x.y", "seats": {"sql": "upper(z)", "type": "integer"}},
        "measures": {"price": {"sum": "x.y", "digits": 2}, "buyers": {"count_if": "x > 'y'"}},
        "reports": {"a": {"window": {"gap": "3m"}}},
        "retention": {"dead_letters": {"rows": "7d"}},
        "schemas.mapping.kinds": {"a b": "visit"},
        "spark.conf": {"spark.x y": "1"},
    }
    alone, together = list[Given](), list[list[Given]]()
    for setting in SHOWN:
        sample = entries.get(setting.name) or (setting.choices or [samples.get(setting.form, "90s")])[-1]
        needed = needed_by(setting)
        own = Given(setting, needed.get(setting.name, sample), source)
        if needed:
            together.append([*(Given(setting_of(name), value, "file") for name, value in needed.items()), own])
        else:
            alone.append(own)
    defaults = Settings(totals=TotalsSettings(), site=SiteSettings())
    for all_given in [alone, *together]:
        settings, lines = loaded(folder, all_given)
        assert read_again(folder, lines) == settings
        for name in [each.setting.name for each in all_given]:
            assert attrgetter(name)(settings) != attrgetter(name)(defaults), name
