"""A command asks for its warehouse, and takes no abbreviated option."""

import pytest

from pipeline.cli import main


@pytest.mark.parametrize("verb", ["advise", "live", "sql", "status", "verify"])
def test_a_command_without_a_warehouse_says_that_it_needs_one(
    verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDEMARK_WAREHOUSE", raising=False)
    with pytest.raises(SystemExit) as ended:
        main([verb])
    assert ended.value.code == 2
    assert "required: --warehouse" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["advise", "--warehous"],
        ["correct", "--dry"],
        ["live", "--rep"],
        ["reset-watermark", "--reas"],
        ["run", "--until"],
        ["status", "--rep"],
        ["verify", "--ware"],
    ],
)
def test_an_option_is_written_out(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """An abbreviation would mean something else once there is another option that begins like it."""
    try:
        code: object = main([*arguments, "x", "--warehouse", "/nowhere"])
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert arguments[1] in capsys.readouterr().err
