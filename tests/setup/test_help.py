"""Help, examples, version and completion: what a person sees of the command lines before anything runs."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import pytest

from tests.support.cases import case
from tests.support.parsed_settings import parsed_settings
from tidemark.command_line.verbs import Verb
from tidemark.pipeline.cli import main, tidemark
from tidemark.pipeline.commands.options import flags_of
from tidemark.pipeline.settings.load import read_sources, settings_of
from tidemark.pipeline.settings.setting_catalogue import catalogue
from tidemark.producers.cli import main as producers_main
from tidemark.producers.cli import producers

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAMS = {"tidemark": tidemark, "producers": producers}
WITH_DEFAULT = [one for one in catalogue() if one.default is not None and not one.is_map]


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Removes the person's own settings, and creates the file that examples name."""
    for name in [name for name in os.environ if name.upper().startswith("TIDEMARK_")]:
        monkeypatch.delenv(name)
    (tmp_path / "tidemark.toml").write_text(
        'warehouse = "/data/tidemark"\n[kafka]\nbootstrap_servers = "kafka:9092"\ntopic = "events"'
    )
    monkeypatch.chdir(tmp_path)


def resolved(command: click.Command, words: Sequence[str], parent: click.Context | None = None) -> click.Context:
    """The context of the verb that the words name, all of them parsed. Raises click.UsageError."""
    context = command.make_context(command.name, list(words), parent)
    if not isinstance(command, click.Group):
        return context
    with context:
        name, below, rest = command.resolve_command(context, [*context._protected_args, *context.args])
    assert below is not None, name
    return resolved(below, rest, context)


def verbs(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every verb of a program, imported, by how it is called."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    with click.Context(command) as context:
        for name in command.list_commands(context):
            below = command.resolve_command(context, [name])[1]
            assert below is not None
            yield from verbs(below, (*path, name))


ALL = [((name, *path), verb) for name, program in PROGRAMS.items() for path, verb in verbs(program)]


def documented() -> Iterator[str]:
    """Commands of the pages, as far as they are written out."""
    for page in PAGES:
        for block in re.findall(r"^```\w*\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                if re.match(r"(tidemark|producers) [a-z]", line):
                    yield line.replace("...", " ").replace("…", " ")


def understood(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parses a command as a shell has it, settings and all. Raises what the command line raises."""
    words = shlex.split(line, comments=True)
    while "=" in words[0]:
        monkeypatch.setenv(*words.pop(0).split("=", 1))
    with resolved(PROGRAMS[words[0]], words[1 : words.index(">")] if ">" in words else words[1:]) as context:
        settings_of(read_sources(flags_of(context), context.params.get("config")))


def test_every_verb_says_what_it_does_what_it_takes_and_how_it_is_called() -> None:
    for path, verb in ALL:
        with case(" ".join(path)):
            assert_says_everything(path, verb)


def assert_says_everything(path: tuple[str, ...], verb: click.Command) -> None:
    assert verb.help
    assert isinstance(verb, Verb)
    assert all(" ".join(path) in example for example in verb.examples)
    assert verb.examples
    with click.Context(verb, info_name=" ".join(path)) as context:
        shown = verb.get_help(context)
        for option in verb.get_params(context):
            assert isinstance(option, click.Argument) or option.help, option.name
            is_hidden = isinstance(option, click.Option) and option.hidden
            section = getattr(option, "section", "")
            is_hidden |= verb.shows is not None and not section.startswith(verb.shows)
            assert is_hidden or all(name in shown for name in option.opts if name.startswith("-"))
    assert all(example in shown for example in verb.examples)
    for repr_of_python in ("timedelta", "Literal", "typing", "<class", "None", "PositiveDuration", "UNSET"):
        assert repr_of_python not in shown


def test_every_example_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    for example in [line for _, verb in ALL if isinstance(verb, Verb) for line in verb.examples if "$(" not in line]:
        with case(example), monkeypatch.context() as patched:
            understood(example, patched)


def test_every_command_of_the_pages_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_WAREHOUSE", "/data/tidemark")
    for line in sorted(set(documented())):
        with case(line), monkeypatch.context() as patched:
            understood(re.sub(r"--config \S+", "--config tidemark.toml", line), patched)


@pytest.mark.slow
def test_listing_the_verbs_imports_no_verb() -> None:
    code = "import sys; from tidemark.pipeline.cli import main; main(['--help']); sys.exit('pydantic' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    for path, _ in ALL:
        assert path[0] != "tidemark" or path[1] in ended.stdout


@pytest.mark.slow
def test_help_waits_neither_for_spark_nor_for_delta() -> None:
    helps = "".join(f"main({[*path[1:], '--help']}); {_heavy(path)}; " for path, _ in ALL if path[0] == "tidemark")
    code = f"import sys; from tidemark.pipeline.cli import main; {helps}"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def _heavy(path: Sequence[str]) -> str:
    """Code that fails if help has imported what takes seconds."""
    return f"assert not {{'pyspark', 'deltalake'}} & {{*sys.modules}}, {path}"


def test_help_shows_each_setting_with_its_form_its_meaning_and_its_default(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for setting in catalogue():
        default = f" [default: {setting.default}]" if setting in WITH_DEFAULT else ""
        assert setting.meaning
        assert setting.is_secret or f"{setting.flag} {setting.form} {setting.meaning}{default}" in shown


def test_help_of_run_shows_the_usual_settings_first_and_the_others_in_groups(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "--help"]) == 0
    text = capsys.readouterr().out
    headings = re.findall(r"^(\S.*):$", text, re.MULTILINE)
    kafka = "kafka: The topic with the events, and its brokers"
    assert headings[:4] == ["Options", "Usual settings", "Settings", kafka]
    usual = text[text.index("Usual settings:") : text.index("\nSettings:")]
    assert re.findall(r"--([a-z.-]+) [^ ]+ *(?:\n|  )", usual) == [
        *("kafka.topic", "kafka.bootstrap-servers", "warehouse"),
        *("schemas.format", "schemas.folder", "schemas.registry.url"),
        *("window.size", "reports", "time.bound", "time.allowed-lateness"),
    ]


def test_a_verb_shows_its_own_options_first_and_all_settings_only_if_it_is_run() -> None:
    for path, verb in ALL:
        with case(" ".join(path)), click.Context(verb, info_name=" ".join(path)) as context:
            shown = verb.get_help(context)
            own = [option.opts[0] for option in verb.params if getattr(option, "section", "Options") == "Options"]
            settings = [f"--{setting.name}" for setting in catalogue() if "." in setting.name]
            last = max(shown.find(f"  {name}") for name in [*own, "--help"] if name.startswith("-"))
            assert all(shown.find(f"{flag} ") not in range(last) for flag in settings)
            assert path[0] != "tidemark" or path == ("tidemark", "run") or shown.count("\n") < 90


def test_what_help_shows_as_default_is_accepted_and_is_the_default() -> None:
    tls = ["--kafka.security.protocol", "SSL"]
    plain, with_tls = parsed_settings(), parsed_settings(*tls)
    for setting in WITH_DEFAULT:
        needed, expected = (tls, with_tls) if "tls" in setting.path else ([], plain)
        with case(setting.name):
            assert parsed_settings(*needed, setting.flag, str(setting.default)) == expected


def test_the_pages_have_each_setting_and_its_default() -> None:
    pages = [(ROOT / "docs" / name).read_text() for name in ("settings.md", "security.md")]
    rows = re.findall(r"^\|([^|]*`[^|]*)\|(.*)", "\n".join(pages), re.MULTILINE)
    for setting in catalogue():
        shown = next((rest for names, rest in rows if f"`{setting.name}`" in names), None)
        assert shown is not None, setting.name
        assert setting not in WITH_DEFAULT or f"`{setting.default}`" in shown, setting.name


@pytest.mark.parametrize(("program", "run"), [("tidemark", main), ("producers", producers_main)])
def test_a_program_prints_its_version(
    program: str, run: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--version"]) == 0
    assert re.fullmatch(rf"{program} \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "words", "found"),
    [
        ("bash", ["tidemark", "ver"], "verify"),
        ("zsh", ["tidemark", "run", "--time.bo"], "--time.bound"),
        ("fish", ["tidemark", "run", "--time.strategy", "pu"], "punctuated"),
        ("bash", ["tidemark", "live", "--engine", "duck"], "duckdb"),
        ("fish", ["producers", "simulate", "--late-s"], "--late-share"),
    ],
)
def test_a_shell_completes_words(shell: str, words: list[str], found: str) -> None:
    variable = f"_{words[0]}_COMPLETE".upper()
    typed = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1) if shell != "fish" else words[-1]}
    environment = {**os.environ, variable: f"{shell}_complete", **typed}
    ended = subprocess.run([executable(words[0])], env=environment, capture_output=True, text=True, check=True)
    assert found in re.split(r"[\s,]", ended.stdout)


@pytest.mark.slow
def test_bash_completes_by_the_script_that_is_printed() -> None:
    bash = shutil.which("bash")
    assert bash is not None
    script = (
        'eval "$(tidemark completion bash)"; COMP_WORDS=(tidemark stat); COMP_CWORD=1; '
        '_tidemark_completion tidemark; echo "${COMPREPLY[@]}"'
    )
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    ended = subprocess.run([bash, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert ended.stdout == "status\n"


def executable(program: str) -> str:
    return str(Path(sys.executable).with_name(program))
