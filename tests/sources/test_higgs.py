"""HIGGS: which rows and columns are drawn, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rdiv.names import spelled
from rdiv.sources import Higgs

RNG = np.random.default_rng


@pytest.mark.data
class TestWithTheFile:
    def test_columns(self, data_dir: Path) -> None:
        with np.load(data_dir / "higgs_tst.npz") as file:
            background, signal = file["background"], file["signal"]
        for columns, chosen in (
            ("jet-phi", [7, 11, 15, 19]),
            ("all", list(range(28))),
            ([0, 3, 27], [0, 3, 27]),
        ):
            p, q = Higgs(columns=columns, data_dir=data_dir).draw(50, RNG(0))
            assert p.shape == q.shape == (50, len(chosen))
            assert p.dtype == q.dtype == np.float64
            assert is_subset(p, background[:, chosen])
            assert is_subset(q, signal[:, chosen])

    def test_null_rows_are_background_and_disjoint(self, data_dir: Path) -> None:
        source = Higgs(columns="all", ratio=2, data_dir=data_dir).loaded()
        p, q = source.draw(5000, RNG(0), null=True)
        assert (len(p), len(q)) == (5000, 10000)
        both = np.concatenate([p, q])
        assert len(np.unique(both, axis=0)) == 15000  # the file has no duplicates
        assert is_subset(both, source.rows[0])

    def test_loading_changes_no_draw(self, data_dir: Path) -> None:
        source = Higgs(data_dir=data_dir)
        np.testing.assert_array_equal(source.draw(30, RNG(5)), source.loaded().draw(30, RNG(5)))
        assert source.loaded().loaded().rows is not None

    def test_whole_samples_can_be_drawn(self, data_dir: Path) -> None:
        p, q = Higgs(data_dir=data_dir).draw(23262, RNG(0))
        assert (len(p), len(q)) == (23262, 23262)
        p, q = Higgs(data_dir=data_dir).draw(11631, RNG(0), null=True)
        assert (len(p), len(q)) == (11631, 11631)

    @pytest.mark.parametrize(
        ("n", "ratio", "null"), [(23263, 1.0, False), (14000, 2.0, False), (11632, 1.0, True)]
    )
    def test_too_many_rows(self, data_dir: Path, n: int, ratio: float, null: bool) -> None:
        sentence = "higgs has 23262 background and 26166 signal rows, got a draw of"
        with pytest.raises(ValueError, match=sentence):
            Higgs(ratio=ratio, data_dir=data_dir).draw(n, RNG(0), null=null)

    def test_columns_that_are_not_there(self, data_dir: Path) -> None:
        for columns in ((0, 28), (-1,)):
            with pytest.raises(ValueError, match="higgs has columns 0 to 27"):
                Higgs(columns=columns, data_dir=data_dir).draw(5, RNG(0))


def is_subset(rows: np.ndarray, among: np.ndarray) -> bool:
    return {*map(bytes, rows)} <= {*map(bytes, among.astype(np.float64))}


def test_settings_are_refused_before_any_file_is_read() -> None:
    with pytest.raises(ValueError, match="'jet-phi', 'all' or column numbers, got 'phi'"):
        Higgs(columns="phi")


def test_the_text_names_the_columns_and_never_the_folder(tmp_path: Path) -> None:
    from rdiv.sources import BY_NAME

    assert spelled(Higgs(data_dir=tmp_path), BY_NAME) == "higgs"
    assert spelled(Higgs(columns=[1, 2]), BY_NAME) == "higgs(columns=(1, 2))"


def test_caveat() -> None:
    assert Higgs().caveat(2500) is None
    for source, n, rows in ((Higgs(), 2501, 2501), (Higgs(ratio=4), 700, 2800)):
        sentence = source.caveat(n)
        assert sentence.startswith(f"draws overlap: {rows} of 23262 background rows")
        assert "describes this file, not the population" in sentence


def test_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDIV_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="rdiv data fetch higgs"):
        Higgs().draw(5, RNG(0))


@pytest.mark.parametrize("content", [b"", b"not a zip", None])
def test_a_file_with_a_wrong_checksum(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "higgs_tst.npz"
    if content is None:
        np.savez(path, background=np.zeros((5, 28)), signal=np.zeros((5, 28)))
    else:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"higgs_tst\.npz has a wrong checksum"):
        Higgs(data_dir=tmp_path).draw(2, RNG(0))
