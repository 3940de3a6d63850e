"""Files are whole or absent; standard output may be cut off."""

from __future__ import annotations

import io
import os
import stat
import sys
from pathlib import Path

import pytest

from rdiv.cli.outputs import check_destination, deliver, printable, write_out


def test_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("old and longer than the new text")
    path.chmod(0o640)
    shown: list[str] = []
    deliver(str(path), "new", lambda: shown.append("summary"))
    assert path.read_text() == "new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert shown == ["summary"]
    assert list(tmp_path.iterdir()) == [path]


def test_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").write_text("")
    deliver(str(tmp_path / "out"), "{}", lambda: None)
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    deliver(str(tmp_path / "link"), "new", lambda: None)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new\n"


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_nothing_is_left_when_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(source: str, target: str) -> None:
        raise error

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises((KeyboardInterrupt, ValueError)):
        deliver(str(tmp_path / "out"), "{}", lambda: None)
    assert list(tmp_path.iterdir()) == []


def test_devices_are_written_to_and_not_replaced(tmp_path: Path) -> None:
    check_destination(os.devnull)
    deliver(os.devnull, "{}", lambda: None)
    assert not os.path.isfile(os.devnull)


def test_document_on_stdout_suppresses_the_summary(capsysbinary: pytest.CaptureFixture) -> None:
    deliver("-", '{"a": "🎈"}', lambda: pytest.fail("no summary is wanted"))
    assert capsysbinary.readouterr().out == '{"a": "🎈"}\n'.encode()


def test_stream_without_the_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    write_out("🎈\n")
    assert raw.getvalue() == b"\\U0001f388\n"


def test_no_stream_at_all(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without standard output nothing fails, and nothing goes to the terminal behind it."""
    monkeypatch.setattr(sys, "stdout", None)
    write_out("lost")
    assert capfd.readouterr() == ("", "")


def test_control_characters_are_spelled_out() -> None:
    assert printable("a\x1b[31mb\nc\udcff 🎈") == "a\\x1b[31mb\nc\\udcff 🎈"
