"""power_study as a whole: what it returns, and that R-divergence has the power it should."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom
from tests.studies.toys import Plain, shifted, timeless

import rdiv
from rdiv.sources import Higgs
from rdiv.studies import PowerStudy, Study, run_study


def test_the_same_seed_gives_the_same_study() -> None:
    asked = {"sizes": [10], "trials": 5, "n_resamples": 19}
    first = rdiv.power_study(shifted, "energy", **asked)
    assert timeless(rdiv.power_study(shifted, "energy", rng=0, **asked).rows) == timeless(
        first.rows
    )
    assert timeless(rdiv.power_study(shifted, "energy", rng=1, **asked).rows) != timeless(
        first.rows
    )
    rng = np.random.default_rng(5)
    drawn = [rdiv.power_study(shifted, "energy", rng=rng, **asked).study.seed for _ in range(2)]
    assert len({*drawn}) == 2


def test_rows_come_in_the_order_of_the_study(tmp_path: Path) -> None:
    asked = {"sizes": [12, 10], "trials": 3, "null": True, "n_resamples": 19}
    whole = rdiv.power_study(shifted, ["energy", Plain()], **asked)
    path = tmp_path / "rows.jsonl"
    rdiv.power_study(shifted, ["energy", Plain()], out=tmp_path, **asked)
    path.write_bytes(b"".join(reversed(path.read_bytes().splitlines(keepends=True))))
    again = rdiv.power_study(shifted, ["energy", Plain()], out=tmp_path, **asked)
    keys = ("source", "test", "n", "null", "trial", "pvalue")
    assert [[row[key] for key in keys] for row in again.rows] == [
        [row[key] for key in keys] for row in whole.rows
    ]
    assert again.table()["n_p"] == [12, 12, 12, 12, 10, 10, 10, 10]


def test_null_adds_a_cell_beside_every_cell() -> None:
    asked = {"sizes": [10, 20], "trials": 2, "n_resamples": 19}
    table = rdiv.power_study(["blob", shifted], ["energy", "r-div:gmm"], null=True, **asked).table()
    cells = [*zip(*(table[name] for name in ("source", "discrepancy", "n_p")), strict=True)]
    assert len(cells) == 16
    for null in (False, True):
        own = [cell for cell, is_null in zip(cells, table["null"], strict=True) if is_null is null]
        assert len({*own}) == len(own) == 8


def test_progress_counts_to_the_end(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    asked = {"sizes": [10], "trials": 4, "n_resamples": 19}
    for out in (None, tmp_path):
        seen.clear()
        rdiv.power_study(
            shifted, "energy", out=out, progress=lambda *counts: seen.append(counts), **asked
        )
        assert seen == [(done, 4) for done in range(5)]
    seen.clear()
    rdiv.power_study(
        shifted, "energy", out=tmp_path, extend=True, n_resamples=19, sizes=[10], trials=6,
        progress=lambda *counts: seen.append(counts),
    )  # fmt: skip
    assert seen == [(4, 6), (5, 6), (6, 6)]


def test_an_interrupted_study_continues(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    asked = {"sizes": [10], "trials": 8, "n_resamples": 19, "out": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        rdiv.power_study(shifted, "energy", progress=stop, **asked)
    assert (tmp_path / "rows.jsonl").read_bytes().count(b"\n") == 3
    found = rdiv.power_study(shifted, "energy", **asked)
    whole = rdiv.power_study(shifted, "energy", sizes=[10], trials=8, n_resamples=19)
    assert timeless(found.rows) == timeless(whole.rows)


def test_a_study_object_runs_as_it_is() -> None:
    study = rdiv.power_study(shifted, "energy", sizes=10, trials=2, n_resamples=19).study
    assert isinstance(study, Study)
    assert isinstance(run_study(study), PowerStudy)


def test_the_folder_says_which_trials_it_holds(tmp_path: Path) -> None:
    rdiv.power_study(shifted, "energy", sizes=10, trials=3, n_resamples=19, out=tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["trial"] for row in rows] == [0, 1, 2]


def test_power_grows_with_the_rows_and_the_level_stays() -> None:
    found = rdiv.power_study(
        shifted, "energy", sizes=[4, 8, 24], trials=100, n_resamples=39, null=True
    )
    table = found.table()
    power = [rate for rate, null in zip(table["rate"], table["null"], strict=True) if not null]
    level = [hits for hits, null in zip(table["rejections"], table["null"], strict=True) if null]
    assert power[0] < power[1] < power[2]
    assert power[2] > 0.9
    assert max(level) <= binom.ppf(1 - 1e-5, 100, 0.05)


def higgs_rejections(data_dir: Path, trials: int, **settings: int) -> tuple[int, int]:
    """Rejections of R-divergence on HIGGS (jet angles, kernel density, n = 1000) and its null."""
    found = rdiv.power_study(
        Higgs(data_dir=data_dir), "r-div:kde", sizes=[1000], trials=trials, null=True, **settings
    )
    print(found.to_markdown())
    table = found.table()
    assert (table["discrepancy"], table["model"]) == (["r-div"] * 2, ["kde"] * 2)
    assert (table["null"], table["alpha"]) == ([False, True], [0.05, 0.05])
    return tuple(table["rejections"])


@pytest.mark.data
def test_power_on_higgs(data_dir: Path) -> None:
    """Of 12 trials a test of power 0.9 finds fewer than 7 once in 1800 such studies.

    A test of power 0.3 finds 7 or more once in 26 of them, one of power 0.2 once in 256.
    """
    found, false = higgs_rejections(data_dir, 12)
    assert found >= 7
    assert false <= binom.ppf(1 - 1e-4, 12, 0.05)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.timeout(3600)
def test_power_on_higgs_at_length(data_dir: Path) -> None:
    """The power is so close to 0.9 that 200 trials, with a standard error of 0.02, cannot tell."""
    found, false = higgs_rejections(data_dir, 1000, n_resamples=999, n_jobs=2)
    assert found / 1000 >= 0.9
    low, high = binom.ppf([0.005, 0.995], 1000, 0.05)
    assert low <= false <= high
