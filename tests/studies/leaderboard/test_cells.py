"""The cells: what they cover, how they are named, and what happens without data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rdiv.errors import InputError
from rdiv.samples.pooling import pool_samples
from rdiv.studies.leaderboard import CELLS, cells_named, with_data
from rdiv.studies.leaderboard.cells import _FOUND
from rdiv.studies.leaderboard.embedded import IMAGE_CHANGES, Embedded
from rdiv.studies.leaderboard.planted import CHANGES, Planted


def test_the_cells_cover_what_they_should() -> None:
    assert len(CELLS) == len(_FOUND) >= 40
    assert sum(cell.trained for cell in CELLS.values()) == 8
    assert {cell.n for cell in CELLS.values()} == {20, 50, 200, 1000}
    sources = [cell.source for cell in CELLS.values()]
    assert {one.change for one in sources if isinstance(one, Planted)} == {*CHANGES}
    assert {one.change for one in sources if isinstance(one, Embedded)} == {*IMAGE_CHANGES}


def test_no_two_cells_have_the_same_draws() -> None:
    assert len({(str(cell.drawn), cell.n) for cell in CELLS.values()}) == len(CELLS)


def test_cells_are_named_by_patterns() -> None:
    assert [cell.name for cell in cells_named(["blob, 50", "hdgm*"])] == [
        "blob, 50", "hdgm 10, 1000", "hdgm 5, 200",
    ]  # fmt: skip
    assert len(cells_named([])) == len(CELLS)
    with pytest.raises(InputError, match=r"no cell is called 'blob, 20'; did you mean blob, 200\?"):
        cells_named(["blob, 20"])
    with pytest.raises(InputError, match="--plan"):
        cells_named(["zzz"])


def test_cells_without_data_are_left_out_with_a_sentence(tmp_path: Path) -> None:
    chosen = cells_named(["blob, 50", "census missing, 50", "digits source, 20", "mnist noise*"])
    there, absent = with_data(chosen, tmp_path)
    assert [cell.name for cell in there] == ["blob, 50", "digits source, 20"]
    assert len(absent) == 2
    assert all("is left out" in sentence for sentence in absent)


@pytest.mark.parametrize("name", CELLS)
def test_every_cell_draws_its_rows(name: str, data_dir: Path) -> None:
    (cell,), _ = with_data([CELLS[name]], data_dir)
    for null in (False, True):
        p, q = cell.drawn.draw(cell.n, np.random.default_rng(0), null)
        assert f"{len(p)} + {len(q)}" == cell.rows
        if cell.n <= 50:
            assert np.isfinite(pool_samples(p, q, rng=0).pool.matrix()).all()
