"""No test judges by seconds: a machine may be slow, and busy with other work."""

from pathlib import Path
from typing import Final

import pytest

from tests.support.by_seconds import findings

TESTS = Path(__file__).parents[1]
ALLOWED: Final = {
    "support/waiting.py": "waits for all others",
    "conftest.py": "gives each test of the night an hour",
    "support/kafka_cluster.py": "looks for a Docker engine, without which the broker is a process",
    "object_store/proxy.py": "is a slow store, on purpose",
    "crash/alert_hour.py": "runs at the pace of the shipped rules",
    "chaos/soak.py": "runs for the minutes that the caller chooses",
    "mutants/__main__.py": "judges for the minutes that the caller chooses",
    "setup/test_no_test_by_seconds.py": "has an example of each pattern",
}
"""Files in which time may pass, each with its reason."""
BUDGETS: Final = {
    "chaos/faults.py": 1,
    "chaos/lives.py": 1,
    "crash/alert_stage.py": 1,
    "object_store/test_every_request.py": 1,
    "producers/access_log/test_exactly_once.py": 2,
    "producers/test_producers_broker.py": 1,
}
"""The known places by file. A count may only fall, to 0 in the end."""


def places(path: Path) -> list[str]:
    """Returns the lines of a file with what is wrong with them."""
    return [f"{path}:{line}: {path.name} {sentence}" for line, sentence in findings(path.read_text())]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("time.sleep(0.1)", "sleeps: wait for a condition"),
        ("await asyncio.sleep(1)", "sleeps: wait for a condition"),
        ("page.wait_for_timeout(3000)", "sleeps: wait for a condition"),
        ("SCRIPT = 'import time; time.sleep(0.2)'", "sleeps in a script"),
        ("assert service.lives_for(3)", "waits for seconds in which nothing may happen"),
        ("assert time.monotonic() - began < 2", "compares a duration"),
        ("elapsed = perf_counter() - began\nassert elapsed < LIMIT", "compares a duration"),
        ("assert datetime.now(UTC) - began < timedelta(seconds=1)", "compares a duration"),
        ("while time.monotonic() < deadline:\n    look()", "waits until a deadline of its own"),
        ("subprocess.run(command, timeout=30)", "run fails after 30 s"),
        ("WAIT_S: Final = 10\nprocess.wait(WAIT_S)", "wait fails after 10 s"),
        ("thread.join(5)", "join fails after 5 s"),
        ("process.communicate(b'', 5)", "communicate fails after 5 s"),
        ("urlopen(url, timeout=5.5)", "urlopen fails after 5.5 s"),
        ("socket.create_connection(address, 30)", "create_connection fails after 30 s"),
        ("expect(row).to_have_text('x', timeout=10_000)", "to_have_text fails after 10 s"),
        ("@pytest.mark.timeout(60)\ndef test(): ...", "sets a limit of its own"),
        ("if time.time() > deadline:\n    pytest.skip('no time left')", "skips by the clock"),
        ("@pytest.mark.skipif(datetime.now().hour > 22, reason='late')\ndef test(): ...", "skips by the clock"),
    ],
)
def test_a_test_that_judges_by_seconds_is_found(source: str, words: str) -> None:
    (finding,) = findings(source)
    assert finding.sentence.startswith(words)


@pytest.mark.parametrize(
    "source",
    [
        "await asyncio.sleep(0)",
        "wait_for(lambda: rows(table), PATIENCE_S, 'a row')",
        "wait_for(lambda: rows(table), 5, 'a row')",  # which waits longer
        "', '.join(names)",
        "process.wait()",
        "process.wait(seconds)",
        "messages = consumer.consume(5_000, timeout=0.5)",
        "expect(row).to_have_text('x', timeout=600_000)",
        "PATIENCE_S = 600\nthread.join(PATIENCE_S)",
        "clock.move(2_000)\nassert clock() - start == 2_000",
        "tally.seconds = time.monotonic() - began",
        "if shutil.which('promtool') is None:\n    pytest.skip('no promtool')",
    ],
)
def test_a_test_that_waits_for_a_condition_is_not_found(source: str) -> None:
    assert findings(source) == []


@pytest.mark.slow
def test_no_test_judges_by_seconds() -> None:
    too_many = []
    for path in sorted(TESTS.rglob("*.py")):
        name = path.relative_to(TESTS).as_posix()
        found = places(path) if name not in ALLOWED else []
        if len(found) > BUDGETS.get(name, 0):
            too_many += found
    assert not too_many, "\n".join(["Tests that judge by seconds fail on a slow machine:", *too_many])


def test_each_exception_is_needed() -> None:
    assert [name for name in ALLOWED if not findings((TESTS / name).read_text())] == []
