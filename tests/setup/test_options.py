"""What a command line must have."""

import pytest

from pipeline.cli import main


@pytest.mark.parametrize("verb", ["advise", "live", "sql", "sql-server", "status", "verify"])
def test_a_command_without_a_warehouse_says_that_it_needs_one(
    verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDEMARK_WAREHOUSE", raising=False)
    with pytest.raises(SystemExit) as ended:
        main([verb])
    assert ended.value.code == 2
    assert "required: --warehouse" in capsys.readouterr().err
