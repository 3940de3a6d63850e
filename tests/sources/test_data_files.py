"""Where prepared files are looked for, and which are refused."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from rdiv.sources.data_files import DATA_FILES, DataFile, arrays_digest, data_dir, data_file


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one small file whose digest is known."""
    arrays = {"x": np.arange(6.0).reshape(2, 3), "y": np.array([0, 1])}
    monkeypatch.setitem(DATA_FILES, "small", DataFile("small.npz", "", arrays_digest(arrays)))
    np.savez(tmp_path / "small.npz", **arrays)
    return tmp_path


def test_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RDIV_DATA", str(tmp_path / "named"))
    assert data_dir() == tmp_path / "named"
    assert data_dir(tmp_path / "given") == tmp_path / "given"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RDIV_DATA", "~/mine")
    assert data_dir() == tmp_path / "mine"
    monkeypatch.setenv("RDIV_DATA", "")
    assert data_dir() == tmp_path / ".cache" / "rdiv"
    monkeypatch.delenv("RDIV_DATA")
    assert data_dir() == tmp_path / ".cache" / "rdiv"


def test_a_whole_file_is_found_by_name_or_file_name(small: Path) -> None:
    assert data_file("small", small) == data_file("small.npz", small) == small / "small.npz"


def test_compression_and_order_do_not_matter_to_the_checksum(small: Path) -> None:
    np.savez_compressed(
        small / "small.npz", y=np.array([0, 1]), x=np.arange(6.0).reshape(2, 3, order="C")
    )
    assert data_file("small", small).is_file()


def test_an_absent_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        data_file("higgs", tmp_path)
    sentence = str(caught.value)
    assert str(tmp_path) in sentence
    assert "'rdiv data fetch higgs'" in sentence
    assert "RDIV_DATA" in sentence


def test_an_unknown_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown data file 'higs'; did you mean 'higgs'"):
        data_file("higs", tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"x": np.arange(6.0).reshape(2, 3) + [[0, 0, 1e-9]] * 2},
        {"x": np.arange(6.0).reshape(3, 2)},
        {"x": np.arange(6.0, dtype=np.float32).reshape(2, 3)},
        {"z": np.array([0])},
    ],
    ids=["a value", "the shape", "the type", "one more array"],
)
def test_any_change_is_noticed(small: Path, change: dict[str, np.ndarray]) -> None:
    arrays = {"x": np.arange(6.0).reshape(2, 3), "y": np.array([0, 1])} | change
    np.savez(small / "small.npz", **arrays)
    with pytest.raises(ValueError, match="wrong checksum"):
        data_file("small", small)


def test_a_file_is_checked_again_after_it_changed(small: Path) -> None:
    path = data_file("small", small)
    content = path.read_bytes()
    path.write_bytes(content[:-30])
    with pytest.raises(ValueError, match=r"wrong checksum.*'rdiv data fetch small'"):
        data_file("small", small)
    path.write_bytes(content)
    os.utime(path, ns=(1, 1))
    assert data_file("small", small) == path


def test_pickled_objects_are_never_loaded(small: Path) -> None:
    np.savez(small / "small.npz", x=np.array([print], dtype=object))
    with pytest.raises(ValueError, match="wrong checksum"):
        data_file("small", small)


@pytest.mark.data
def test_the_prepared_files_are_whole(data_dir: Path) -> None:
    for name in DATA_FILES:
        assert data_file(name, data_dir).is_file()
