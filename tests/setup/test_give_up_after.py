"""`tidemark run --give-up-after`: an option that is no setting."""

import pytest

from tidemark.pipeline.cli import main


@pytest.mark.parametrize(
    ("written", "said"), [("30", "'30' is not a duration: write a number"), ("0s", "must be at least 1ms")]
)
def test_an_invalid_duration_is_reported_in_a_sentence(
    written: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--give-up-after", written, "--topic", "clicks"]) == 2
    assert capsys.readouterr().err.startswith(f"tidemark: --give-up-after: {said}")


def test_help_shows_the_option_and_the_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--give-up-after DURATION" in shown
    assert "--metrics.stuck-after" in shown
