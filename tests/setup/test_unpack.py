"""Archives are unpacked into their folder and nowhere else, by a Python with filters of tarfile and by one without."""

import os
import stat
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from dev.unpack import unpack


@pytest.fixture(params=["filter", "no filter"] if hasattr(tarfile, "data_filter") else ["no filter"])
def python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python before 3.11.4 has no filters, and no parameter `filter`."""
    if request.param == "no filter":
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
        monkeypatch.setattr(tarfile.TarFile, "extractall", None)
        trusting = staticmethod(lambda info, _: info)  # otherwise CPython from 3.12 warns that there is no filter
        monkeypatch.setattr(tarfile.TarFile, "extraction_filter", trusting, raising=False)


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, mode
    info.uid = info.gid = 12345
    return info


def archive_of(*members: tarfile.TarInfo) -> tarfile.TarFile:
    content = BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for info in members:
            info.size = 4 if info.isfile() else 0
            archive.addfile(info, BytesIO(b"text"))
    return tarfile.open(fileobj=BytesIO(content.getvalue()))


@pytest.mark.usefixtures("python")
def test_files_folders_and_links_are_unpacked_for_this_user(tmp_path: Path) -> None:
    members = [
        member("a", tarfile.DIRTYPE, mode=0o755),
        member("a/file", mode=0o4777),
        member("b/program", mode=0o755),
        member("a/link", tarfile.SYMTYPE, "../b/program"),
    ]
    with archive_of(*members) as archive:
        unpack(archive, tmp_path)
    assert (tmp_path / "a" / "file").read_text() == "text"
    assert (tmp_path / "a" / "link").read_text() == "text"
    assert (tmp_path / "a" / "link").is_symlink()
    for name, mode in {"a/file": 0o755, "b/program": 0o755}.items():
        status = (tmp_path / name).stat()
        assert (stat.S_IMODE(status.st_mode), status.st_uid) == (mode, os.geteuid())


@pytest.mark.usefixtures("python")
@pytest.mark.parametrize(
    "members",
    [
        [member("../outside")],
        [member("a/../../outside")],
        [member("link", tarfile.SYMTYPE, "../outside")],
        [member("link", tarfile.SYMTYPE, "/etc")],
        [member("a/link", tarfile.SYMTYPE, "../../outside")],
        [member("pipe", tarfile.CHRTYPE)],
        [member("good"), member("link", tarfile.LNKTYPE, "../outside")],
    ],
    ids=lambda members: f"{members[-1].name} {members[-1].linkname}",
)
def test_what_leads_out_of_the_folder_is_refused(members: list[tarfile.TarInfo], tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "outside").mkdir()
    with archive_of(*members) as archive, pytest.raises(tarfile.TarError):
        unpack(archive, folder)
    assert [*(tmp_path / "outside").iterdir()] == []
    assert {path.name for path in tmp_path.iterdir()} == {"folder", "outside"}


@pytest.mark.usefixtures("python")
def test_an_absolute_name_is_refused_or_unpacked_inside(tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    with archive_of(member(str(outside))) as archive:
        try:
            unpack(archive, folder)
        except tarfile.TarError:
            assert [*folder.iterdir()] == []
    assert not outside.exists()


def test_no_other_code_extracts_archives() -> None:
    root = Path(__file__).parents[2]
    files = [
        path for package in ("dev", "pipeline", "producers", "demo", "tests") for path in (root / package).rglob("*.py")
    ]
    assert {path.name for path in files if ".extractall(" in path.read_text()} == {"unpack.py", Path(__file__).name}
