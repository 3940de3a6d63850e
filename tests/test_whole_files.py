"""Files that are written whole: what a killed writer has left, and what others have."""

from __future__ import annotations

from pathlib import Path

from rdiv.whole_files import DRAFTS, write_whole_file


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_lone_writer_writes_over_its_old_draft(tmp_path: Path) -> None:
    (tmp_path / f"{DRAFTS}state.json").write_bytes(b"half of")
    write_whole_file(tmp_path / "state.json", b"whole", alone=True)
    assert names(tmp_path) == ["state.json"]
    assert (tmp_path / "state.json").read_bytes() == b"whole"


def test_others_leave_drafts_alone(tmp_path: Path) -> None:
    (tmp_path / f"{DRAFTS}state.json").write_bytes(b"of somebody else")
    write_whole_file(tmp_path / "state.json", b"whole")
    assert names(tmp_path) == [f"{DRAFTS}state.json", "state.json"]
