"""Settings: durations as people write them, and four sources of which the stronger wins."""

import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.parsed_settings import parsed_settings
from tidemark.pipeline.app import open_service
from tidemark.pipeline.cli import main
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.event_time.malformed import MalformedLimit
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.strategies import Bounded
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.settings.model import Settings


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the person's own environment may decide a test."""
    for name in [name for name in os.environ if name.upper().startswith("TIDEMARK_")]:
        monkeypatch.delenv(name)


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "tidemark.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("500ms", timedelta(milliseconds=500)),
        ("30s", timedelta(seconds=30)),
        ("10m", timedelta(minutes=10)),
        ("12h", timedelta(hours=12)),
        ("7d", timedelta(days=7)),
        (" 5 s ", timedelta(seconds=5)),
        ("0s", timedelta(0)),
        ("1.5m", timedelta(seconds=90)),
    ],
)
def test_a_duration_is_a_number_and_a_unit(written: str, meant: timedelta) -> None:
    assert Settings(time={"bound": written}).time.bound == meant  # type: ignore[arg-type] # as a file has it


@pytest.mark.parametrize("written", ["30", "1.s", "-5s", "s", "10 minutes", "1m30s", ""])
def test_anything_else_is_no_duration_and_the_message_says_how_to_write_one(written: str) -> None:
    with pytest.raises(SetUpError, match=r"time\.bound: .*is not a duration: write a number and ms, s, m, h or d"):
        parsed_settings(f"--time.bound={written}")


def test_a_duration_longer_than_any_clock_is_reported() -> None:
    with pytest.raises(SetUpError, match=r"time\.bound: .*'99999999999d' is too long for a duration"):
        parsed_settings("--time.bound=99999999999d")


@pytest.mark.parametrize("name", ["bound", "max_ahead_of_clock", "interval"])
@pytest.mark.parametrize("written", ["5000", "-5", "1.5", "true", "12:00:00", "[]"])
def test_a_duration_is_text_with_a_unit_in_a_file_as_well(name: str, written: str, tmp_path: Path) -> None:
    with pytest.raises(SetUpError, match=rf"time\.{name}: .* is not a duration: write a number and a unit as text"):
        parsed_settings("--config", str(file(tmp_path, f"[time]\n{name} = {written}")))


@pytest.mark.parametrize("name", ["--window.size", "--time.idle-timeout", "--kafka.connect-timeout"])
def test_a_duration_that_must_be_positive_cannot_be_zero(name: str) -> None:
    with pytest.raises(SetUpError, match="must be at least 1ms"):
        parsed_settings(name, "0s")


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ({"size": "10s", "slide": "11s"}, "slide must not be longer than size"),
        ({"size": "10s", "step": "3s"}, "size must be a multiple of step"),
        ({"size": "10s", "step": "11s"}, "size must be a multiple of step"),
        ({"size": "10s", "step": "5s", "slide": "5s"}, "windows have a slide or a step"),
        ({"size": "1d", "step": "1h", "zone": "Europe/Berlin"}, "no slide, step or offset"),
        ({"gap": "10s", "step": "5s"}, "sessions have only a gap"),
        ({"size": "10s", "slide": "3"}, 'slide 3 is not a duration: write a number and a unit as text, such as "30s"'),
        ({"count": "5", "slide": "1", "offset": "1s"}, "count windows only a count and a slide"),
        ({"count": "5", "slide": "1s"}, "with a count, slide is a number of events"),
        ({"count": "5", "slide": "6"}, "slide must not be greater than count: events between two windows would be in"),
    ],
)
def test_what_makes_no_windows_is_refused(window: dict[str, str], said: str, tmp_path: Path) -> None:
    lines = "\n".join(f'{name} = "{value}"' for name, value in window.items())
    with pytest.raises(SetUpError, match=f"window: .*{said}"):
        parsed_settings("--config", str(file(tmp_path, f"[window]\n{lines}")))


def test_the_policy_is_in_milliseconds() -> None:
    policy = Settings().policy()
    assert (policy.strategy, policy.idle_timeout_ms, policy.max_future_skew_ms) == (Bounded(10_000), 30_000, 300_000)
    assert policy.reports == (
        Report("page_views", Grid(60_000, 60_000), 60_000, ("user_id",)),
        Report("page_traffic", Grid(60_000, 60_000), 60_000, ("page_url",)),
        Report("site_traffic", Grid(60_000, 60_000), 60_000, ()),
    )


def test_a_topic_is_given_up_when_nine_in_ten_of_ten_thousand_records_are_malformed() -> None:
    assert Settings().dead_letters.malformed() == MalformedLimit(0.9, 10_000)


def test_flag_beats_environment_beats_file_beats_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = file(tmp_path, '[kafka]\ntopic = "file"\nbootstrap_servers = "file"\ngroup_id = "file"')
    monkeypatch.setenv("TIDEMARK_KAFKA__TOPIC", "environment")
    monkeypatch.setenv("TIDEMARK_KAFKA__BOOTSTRAP_SERVERS", "environment")
    kafka = parsed_settings("--kafka.topic", "flag", "--config", str(config)).kafka
    assert (kafka.topic, kafka.bootstrap_servers, kafka.group_id) == ("flag", "environment", "file")
    assert kafka.start == "earliest"


def test_the_file_may_be_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_CONFIG", str(file(tmp_path, '[window]\nsize = "5m"')))
    assert parsed_settings().window.size == timedelta(minutes=5)


@pytest.mark.parametrize("flags", [["--topic", "t"], ["--kafka.topic", "t"], ["--kafka.topic=t"]])
def test_what_is_needed_every_time_has_a_short_flag_too(flags: list[str]) -> None:
    assert parsed_settings(*flags).kafka.topic == "t"


@pytest.mark.parametrize(
    ("flag", "meant"),
    [("--topick", "--topic"), ("--kafka.topik", "--kafka.topic"), ("--time.bond", "--time.bound")],
)
def test_a_misspelt_flag_is_reported_with_a_suggestion(
    flag: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", flag, "x"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"tidemark: No such option '{flag}'.")
    assert f"'{meant}'" in said
    assert said.endswith("see `tidemark run --help`\n")
    assert said.count("\n") == 1


@pytest.mark.parametrize("flag", ["--kafka.topi", "--time.allowed", "--until"])
def test_no_flag_is_taken_for_what_it_begins_like(flag: str) -> None:
    assert main(["run", flag, "x"]) == 2


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("TIDEMARK_KAFKA_TOPIC", "TIDEMARK_KAFKA_TOPIC names no setting; "),
        ("TIDEMARK_KAFKA__TOPIK", "kafka.topik: there is no such setting (in TIDEMARK_KAFKA__TOPIK); "),
        ("TIDEMARK_KAFAK__TOPIC", "TIDEMARK_KAFAK__TOPIC names no setting; "),
        ("tidemark_kafak__topic", "tidemark_kafak__topic names no setting; "),
        ("TIDEMARK_TOPIC", "TIDEMARK_TOPIC names no setting; "),
    ],
)
def test_a_misspelt_variable_is_reported_with_a_suggestion(
    name: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "x")
    with pytest.raises(SetUpError, match=re.escape(f"{sentence}did you mean TIDEMARK_KAFKA__TOPIC?")):
        parsed_settings()


def test_an_unknown_variable_is_reported_with_the_known_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_QQQ", "x")
    with pytest.raises(SetUpError, match=r"TIDEMARK_QQQ names no setting: after TIDEMARK_ comes one of BATCH, "):
        parsed_settings()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[kafka]\ntopik = "x"', "kafka.topik: there is no such setting (in {file}); did you mean kafka.topic?"),
        ('topic = "x"', "topic: there is no such setting (in {file}); did you mean kafka.topic?"),
        ("[kafak]", "kafak: there is no such setting (in {file}); did you mean kafka?"),
        (
            "[reports.users]\nkey = []",
            "reports.users.key: there is no such setting (in {file}); did you mean reports.users.keys?",
        ),
        ("qqq = 1", "qqq: there is no such setting (in {file})"),
    ],
)
def test_a_misspelt_setting_in_the_file_is_reported_with_a_suggestion(tmp_path: Path, text: str, sentence: str) -> None:
    config = file(tmp_path, text)
    with pytest.raises(SetUpError, match=re.escape(sentence.format(file=config)) + "$"):
        parsed_settings("--config", str(config))


def test_a_wrong_value_is_reported_with_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_METRICS__PORT", "many")
    config = file(tmp_path, '[window]\nsize = "long"')
    with pytest.raises(SetUpError) as caught:
        parsed_settings("--time.bound", "soon", "--config", str(config))
    for found in (
        "(found 'soon' in --time.bound)",
        "(found 'many' in TIDEMARK_METRICS__PORT)",
        f"(found 'long' in {config})",
    ):
        assert found in str(caught.value)


def test_several_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(SetUpError, match=r"kafka\.topik: .*; time\.bound: ") as caught:
        parsed_settings("--time.bound", "soon", "--config", str(file(tmp_path, '[kafka]\ntopik = "x"')))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["[kafka\n", "= 1"])
def test_a_file_that_is_not_toml_is_reported_with_its_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(SetUpError, match=r"is not TOML: .*line 1"):
        parsed_settings("--config", str(file(tmp_path, text)))


def test_a_binary_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "tidemark.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SetUpError, match="is not TOML"):
        parsed_settings("--config", str(tmp_path / "tidemark.toml"))


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SetUpError, match=r"nowhere\.toml cannot be read: No such file"):
        parsed_settings("--config", str(tmp_path / "nowhere.toml"))


@pytest.mark.parametrize(
    ("schemas", "sentence"),
    [
        ('format = "json"\nfolder = "schemas"', "leave out schemas.folder and schemas.registry"),
        ('format = "json"\nregistry = { url = "http://registry" }', "leave out schemas.folder and schemas.registry"),
        ("mapping = { types = { price = 'number' } }", "mapping.types is for fields of JSON"),
        ("format = 'json'\nmapping = { types = { price = 'decimal' } }", "number"),
        ("format = 'json'\nmapping = { user = 'a..b' }", "mapping.user"),
        ("format = 'json'\nmapping = { user = 'a b' }", "mapping.user"),
        ("format = 'protobuf'", "avro"),
    ],
)
def test_what_does_not_fit_the_format_of_events_is_refused(schemas: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(SetUpError, match=sentence):
        parsed_settings("--config", str(file(tmp_path, f"[schemas]\n{schemas}")))


def test_a_field_of_json_may_be_an_item_of_an_array(tmp_path: Path) -> None:
    text = "[schemas]\nformat = 'json'\nmapping = { user = 'items.0.user-id', time = '@timestamp' }"
    mapping = parsed_settings("--config", str(file(tmp_path, text))).schemas.mapping
    assert (mapping.user, mapping.time) == ("items.0.user-id", "@timestamp")


def test_the_user_may_be_in_several_fields(tmp_path: Path) -> None:
    listed = file(tmp_path, "[schemas.mapping]\nuser = ['account.id', 'anonymousId']")
    for words in (["--config", str(listed)], ["--schemas.mapping.user", "account.id,anonymousId"]):
        assert parsed_settings(*words).schemas.mapping.fields().users == ["account.id", "anonymousId"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"kafka": {"start": "middle"}},
        {"metrics": {"port": 65536}},
        {"batch": {"max_records": 0}},
        {"dead_letters": {"limit": 0}},
        {"dead_letters": {"limit": 1.1}},
        {"dead_letters": {"window": 0}},
    ],
)
def test_a_value_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Settings(**wrong)


def test_settings_do_not_change_under_a_running_service() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().warehouse = "elsewhere"


def test_what_must_be_set_is_named_all_at_once() -> None:
    needed = r"kafka\.bootstrap_servers, kafka\.topic, warehouse must be set"
    with pytest.raises(SetUpError, match=needed), open_service(Settings()):
        pass


def test_events_are_deduplicated_only_where_the_settings_say_so() -> None:
    assert not parsed_settings().policy().deduplicate
    assert parsed_settings("--deduplicate=event_id").policy().deduplicate


def test_a_misspelt_field_to_deduplicate_by_is_reported_with_the_known_fields() -> None:
    with pytest.raises(SetUpError, match=r"deduplicate: Input should be 'off' or 'event_id' \(found 'event-id'"):
        parsed_settings("--deduplicate=event-id")


def test_events_of_a_count_cannot_be_deduplicated_because_no_id_could_be_removed() -> None:
    with pytest.raises(SetUpError, match="deduplicate cannot be combined with pairs: no event is too late"):
        parsed_settings("--deduplicate=event_id", '--reports=pairs={"window": {"count": 2}}')
