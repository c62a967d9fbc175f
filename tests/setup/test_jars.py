"""Jars come in whole, verified and once, whatever the network does meanwhile."""

import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import structlog

from dev.connector import SOURCES, refresh
from tests.setup.mirror import Mirror, serving
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.logs import configure_logs
from tidemark.pipeline.runtime import connector, jars
from tidemark.pipeline.runtime.jars import SETS, Jar, cache, locked, mirror, provide

AT_ONCE = (0.0, 0.0)
CONTENT = bytes(range(256)) * 40


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """Restores the configuration of logs, which a download may set."""
    root, config = logging.getLogger(), structlog.get_config()
    handlers, level, was_configured = root.handlers[:], root.level, structlog.is_configured()
    yield
    structlog.configure(**config) if was_configured else structlog.reset_defaults()
    logging.captureWarnings(capture=False)
    root.handlers[:], root.level = handlers, level


@pytest.fixture
def central() -> Iterator[Mirror]:
    with serving() as mirror:
        yield mirror


def test_a_jar_is_fetched_from_where_maven_keeps_it(central: Mirror, tmp_path: Path) -> None:
    jar = central.publish("org.example.deep:tool_2.13:1.2", CONTENT)
    assert provide([jar], tmp_path / "new", central.address) == [tmp_path / "new" / "tool_2.13-1.2.jar"]
    assert (tmp_path / "new" / "tool_2.13-1.2.jar").read_bytes() == CONTENT
    assert central.requests == [("/org/example/deep/tool_2.13/1.2/tool_2.13-1.2.jar", None)]


def test_paths_come_in_the_order_of_the_lock(central: Mirror, tmp_path: Path) -> None:
    lock = [central.publish(f"g:{name}:1", name.encode()) for name in ("c", "a", "b")]
    assert [path.name for path in provide(lock, tmp_path, central.address)] == ["c-1.jar", "a-1.jar", "b-1.jar"]


def test_a_second_call_asks_the_mirror_for_nothing(central: Mirror, tmp_path: Path) -> None:
    jar = central.publish("g:a:1", CONTENT)
    provide([jar], tmp_path, central.address)
    provide([jar], tmp_path, central.address)
    assert len(central.requests) == 1


def test_a_cached_file_that_was_damaged_is_fetched_again(central: Mirror, tmp_path: Path) -> None:
    jar = central.publish("g:a:1", CONTENT)
    (tmp_path / jar.name).write_bytes(b"damaged")
    provide([jar], tmp_path, central.address)
    assert (tmp_path / jar.name).read_bytes() == CONTENT


def test_a_wrong_hash_is_refused_and_leaves_no_file(central: Mirror, tmp_path: Path) -> None:
    jar = Jar("g:a:1", "0" * 64)
    central.files[jar.url("")] = CONTENT
    with pytest.raises(
        SetUpError, match=r"a-1\.jar has SHA-256 [0-9a-f]{64}, but the lock has 0{64}: the mirror serves"
    ):
        provide([jar], tmp_path, central.address)
    assert not list(tmp_path.glob("a-1.jar*"))


def test_a_cut_connection_is_resumed_where_it_ended(central: Mirror, tmp_path: Path) -> None:
    jar = central.publish("g:a:1", CONTENT)
    central.cuts_bytes = [1000, 2000]
    provide([jar], tmp_path, central.address, AT_ONCE)
    assert [byte_range for _, byte_range in central.requests] == [None, "bytes=1000-", "bytes=3000-"]
    assert (tmp_path / jar.name).read_bytes() == CONTENT


def test_a_part_of_an_earlier_process_is_resumed(central: Mirror, tmp_path: Path) -> None:
    jar = central.publish("g:a:1", CONTENT)
    (tmp_path / "a-1.jar.part").write_bytes(CONTENT[:500])
    provide([jar], tmp_path, central.address)
    assert [byte_range for _, byte_range in central.requests] == ["bytes=500-"]
    assert [path.name for path in tmp_path.glob("a-1*")] == ["a-1.jar"]


@pytest.mark.parametrize(
    "left", [b"not its beginning", CONTENT, CONTENT + b"too much"], ids=["other", "whole", "longer"]
)
def test_a_part_that_cannot_be_continued_is_thrown_away(central: Mirror, tmp_path: Path, left: bytes) -> None:
    jar = central.publish("g:a:1", CONTENT)
    (tmp_path / "a-1.jar.part").write_bytes(left)
    provide([jar], tmp_path, central.address, AT_ONCE)
    assert (tmp_path / jar.name).read_bytes() == CONTENT


def test_a_mirror_that_ignores_ranges_is_read_from_the_start(central: Mirror, tmp_path: Path) -> None:
    jar = central.publish("g:a:1", CONTENT)
    central.ranges, central.cuts_bytes = False, [1000]
    provide([jar], tmp_path, central.address, AT_ONCE)
    assert (tmp_path / jar.name).read_bytes() == CONTENT


def test_a_download_says_where_jars_come_from_and_how_far_it_is(
    central: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lock, measured = [central.publish(f"g:{name}:1", CONTENT) for name in "ab"], jars._megabytes

    def measure(*arguments: Any) -> float:
        """Measures for the first line, and then lets the mirror answer."""
        megabytes = measured(*arguments)
        central.answers.set()
        return megabytes

    central.answers.clear()
    monkeypatch.setattr(jars, "PROGRESS_S", 0.02)
    monkeypatch.setattr(jars, "_megabytes", measure)
    configure_logs("json")
    provide(lock, tmp_path, central.address)
    printed = capsys.readouterr()
    first, *progress = map(json.loads, printed.err.splitlines())
    assert {"event": "jars_downloading", "count": 2, "mirror": central.address}.items() <= first.items()
    assert progress[0]["count"] == 0, "the first line comes before the end"
    assert {"event": "jars_downloaded", "count": 2, "of": 2, "megabytes": 0.0}.items() <= progress[-1].items()
    assert printed.out == ""


def test_an_overloaded_mirror_is_asked_again(central: Mirror, tmp_path: Path) -> None:
    jar = central.publish("g:a:1", CONTENT)
    central.statuses = [503, 429]
    provide([jar], tmp_path, central.address, AT_ONCE)
    assert (tmp_path / jar.name).read_bytes() == CONTENT


def test_a_jar_the_mirror_lacks_is_not_asked_for_again(central: Mirror, tmp_path: Path) -> None:
    with pytest.raises(SetUpError, match="answers HTTP 404: the mirror lacks this jar"):
        provide([Jar("g:a:1", "0" * 64)], tmp_path, central.address, AT_ONCE)
    assert len(central.requests) == 1


def test_an_unreachable_mirror_is_one_sentence(tmp_path: Path) -> None:
    with serving() as gone:
        jar = gone.publish("g:a:1", CONTENT)
    with pytest.raises(
        SetUpError, match=r"^http://.*a-1\.jar cannot be fetched \(.*\); check the network, or set"
    ) as seen:
        provide([jar], tmp_path, gone.address, AT_ONCE)
    assert "\n" not in str(seen.value)


def test_two_at_once_fetch_each_jar_once(central: Mirror, tmp_path: Path) -> None:
    lock = [central.publish(f"g:{name}:1", CONTENT) for name in "abcdef"]
    with ThreadPoolExecutor(4) as pool:
        tasks = [pool.submit(provide, lock, tmp_path, central.address) for _ in range(4)]
        results = [task.result() for task in tasks]
    assert all(paths == results[0] for paths in results)
    assert len(central.requests) == len(lock)


def test_a_directory_that_cannot_be_written_is_one_sentence(central: Mirror, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetUpError, match=r"Jars cannot be stored in .*; set TIDEMARK_JARS_CACHE to a folder"):
        provide([central.publish("g:a:1", CONTENT)], tmp_path / "file" / "below", central.address)


def test_the_lock_names_all_sets_with_whole_hashes() -> None:
    assert [jar.name for jar in locked("spark")] == ["kafka-clients-3.9.2.jar"]
    assert "delta-spark_4.0_2.13-4.4.0.jar" in {jar.name for jar in locked("delta")}
    assert "kafka_2.13-4.1.1.jar" in {jar.name for jar in locked("broker")}
    assert all(len(bytes.fromhex(jar.sha256)) == 32 for name in SETS for jar in locked(name))


def test_a_checkout_without_the_connector_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector, "JAR", tmp_path / "tidemark-connector.jar")
    with pytest.raises(SetUpError, match="install a wheel of tidemark-lake, or run `make setup` in a checkout"):
        connector.connector_jar()


@pytest.mark.jvm
def test_the_same_sources_make_the_same_connector(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    again = tmp_path / "tidemark-connector.jar"
    (tmp_path / SOURCES.name).symlink_to(SOURCES)
    refresh(again, tmp_path / SOURCES.name)
    assert again.read_bytes() == connector.JAR.read_bytes()


def test_the_cache_is_the_configured_folder_then_xdg_then_home() -> None:
    assert cache({"TIDEMARK_JARS_CACHE": "/a", "XDG_CACHE_HOME": "/b"}) == Path("/a")
    assert cache({"XDG_CACHE_HOME": "/b"}) == Path("/b/tidemark/jars")
    assert cache({"XDG_CACHE_HOME": "relative"}) == Path.home() / ".cache" / "tidemark" / "jars"


def test_the_mirror_may_be_chosen_and_must_be_an_address() -> None:
    assert mirror({}) == "https://repo.maven.apache.org/maven2"
    assert mirror({"TIDEMARK_MAVEN_MIRROR": "http://here/maven/"}) == "http://here/maven"
    with pytest.raises(SetUpError, match="TIDEMARK_MAVEN_MIRROR is 'here/maven'; it must be"):
        mirror({"TIDEMARK_MAVEN_MIRROR": "here/maven"})
    with pytest.raises(SetUpError, match="has a user or a password") as refused:
        mirror({"TIDEMARK_MAVEN_MIRROR": "https://ann:hush@nexus/maven"})
    assert "hush" not in str(refused.value)


def test_the_command_prints_where_the_jars_are(
    central: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = [central.publish("g:a:1", b"a"), central.publish("g:b:1", b"b")]
    monkeypatch.setenv("TIDEMARK_MAVEN_MIRROR", central.address)
    monkeypatch.setattr(jars, "locked", {"spark": lock}.__getitem__)
    assert jars.main(["spark", "--into", str(tmp_path), "--print", "comma"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/a-1.jar,{tmp_path}/b-1.jar\n"


def test_the_command_ends_with_two_and_a_sentence(
    central: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEMARK_MAVEN_MIRROR", central.address)
    assert jars.main(["spark", "--into", str(tmp_path)]) == 2
    assert "answers HTTP 404" in capsys.readouterr().err
