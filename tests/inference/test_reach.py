"""The smallest p-value against all permutations, one by one; and who refuses what."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import rdiv
from rdiv.cli.application import app
from rdiv.inference.mean_gaps import mean_gap
from rdiv.inference.reach import distinct_masks, smallest_pvalue

DESIGNS: dict[str, tuple[Any, Any, Any]] = {
    "3 + 3 rows": (np.arange(6) < 3, None, None),
    "3 + 4 rows": (np.arange(7) < 3, None, None),
    "2 + 5 rows": (np.arange(7) < 2, None, None),
    "groups": (np.arange(10) < 6, np.array([0, 0, 0, 1, 1, 2, 3, 4, 4, 5]), None),
    "pairs": (np.arange(10) % 2 == 0, None, np.repeat(np.arange(5), 2)),
    "strata": (np.array([1, 0, 1, 1, 0, 1, 0], bool), None, np.array([0, 0, 0, 1, 1, 1, 1])),
    "a fixed stratum": (np.array([1, 1, 1, 0, 1, 0], bool), None, np.array([0, 0, 1, 1, 1, 1])),
    "groups in strata": (
        np.array([1, 1, 0, 0, 1, 0], bool), np.array([0, 0, 1, 2, 3, 4]),
        np.array([0, 0, 0, 1, 1, 1]),
    ),
}  # fmt: skip


def all_masks(is_p: Any, groups: Any, strata: Any) -> np.ndarray:
    """Every split that permutations can give, found by trying all."""
    n = len(is_p)
    groups = np.arange(n) if groups is None else groups
    strata = np.zeros(n, int) if strata is None else strata
    first = np.unique(groups, return_index=True)[1]
    kept = []
    for mask in map(np.array, product([False, True], repeat=n)):
        whole = all(len(set(mask[groups == group])) == 1 for group in set(groups))
        same = all(
            mask[first][strata[first] == k].sum() == is_p[first][strata[first] == k].sum()
            for k in set(strata)
        )
        if whole and same:
            kept.append(mask)
    return np.array(kept)


@pytest.mark.parametrize("name", DESIGNS)
def test_by_enumeration(name: str) -> None:
    is_p, groups, strata = DESIGNS[name]
    masks = all_masks(is_p, groups, strata)
    assert distinct_masks(is_p, groups, strata) == len(masks)
    losses = np.random.default_rng(0).normal(size=len(is_p))
    values = mean_gap(losses, studentize=False, groups=groups, strata=strata).statistic(masks)
    ties = int(np.isclose(values, values.max()).sum())
    assert smallest_pvalue(is_p, groups, strata) == ties / len(masks)
    assert smallest_pvalue(is_p, groups, strata, directed=True) == 1 / len(masks)


def test_many_rows_are_not_counted() -> None:
    assert smallest_pvalue(np.arange(100_000) < 40_000) < 1e-8


ROWS = np.random.default_rng(0).normal(size=(300, 2))
THREE = np.arange(100) % 3


@pytest.mark.parametrize("run", [rdiv.compare, rdiv.two_sample_test])
@pytest.mark.parametrize(
    ("sizes", "design", "words"),
    [
        ((3, 3), {}, "3 . 3 rows have 20 distinct permutations, so no p-value is below 0.1"),
        ((100, 100), {"groups": (THREE, THREE + 3)}, "3 . 3 groups have 20"),
        ((5, 5), {"strata": (np.arange(5), np.arange(5))}, "5 . 5 rows in 5 strata have 32"),
    ],
)
def test_refused(run: Any, sizes: tuple[int, int], design: dict[str, Any], words: str) -> None:
    pair = ROWS[: sizes[0]], ROWS[150 : 150 + sizes[1]]
    with pytest.raises(rdiv.errors.InputError, match=words):
        run(*pair, model="gmm", rng=0, **design)


def test_a_larger_level_is_within_reach() -> None:
    found = rdiv.two_sample_test(ROWS[:3], ROWS[3:6], "energy", alpha=0.1, n_resamples=99, rng=0)
    assert found.pvalue >= 0.1 - 4 * (0.09 / 99) ** 0.5


def test_a_test_that_takes_sides_needs_fewer(tmp_path: Path) -> None:
    def signed(masks: np.ndarray) -> np.ndarray:
        return masks @ ROWS[:6, 0]

    class Signed:
        directed = True

        def prepare(self, pool: Any, rng: Any) -> Any:
            return signed

    found = rdiv.two_sample_test(ROWS[:3], ROWS[3:6], Signed(), rng=0)
    assert found.n_p == 3


def test_a_question_out_of_reach_is_not_asked() -> None:
    groups = np.arange(150) % 6, 6 + np.arange(150) % 3
    found = rdiv.compare(
        ROWS[:150], ROWS[150:], groups=groups, model="gmm", drivers=False, n_resamples=39, rng=0
    )
    assert found.gap is None
    assert found.leading == "r-div"
    assert "3 + 3 groups have 20 distinct permutations" in str(found)


def test_a_level_out_of_reach_is_skipped() -> None:
    def day(groups: int, start: int) -> pl.DataFrame:
        x = ROWS[:60]
        return pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "g": start + np.arange(60) % groups})

    found = rdiv.compare_many(
        day(6, 0), {"few": day(2, 10), "more": day(8, 20)}, groups="g", model="gmm", rng=0,
        drivers=False, n_resamples=99,
    )  # fmt: skip
    few, more = found.levels
    assert few.comparison is None
    assert "distinct permutations" in few.skipped
    assert more.verdict is not None


def test_no_gap_can_be_named_with_too_few_permutations() -> None:
    """The verdict needs half of alpha, which 19 permutations do not reach."""
    found = rdiv.compare(ROWS[:150], ROWS[150:], model="gmm", n_resamples=19, drivers=False, rng=0)
    assert found.smallest_detectable_gap == np.inf
    assert json.loads(found.to_json())["smallest_detectable_gap"] is None
    assert "no gap in negative log density can be named" in found.headline()


@pytest.mark.parametrize("command", ["compare", "test"])
def test_the_command_exits_with_2(command: str, tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("p.csv", "q.csv")]
    for file, rows in zip(files, (ROWS[:3], ROWS[3:6]), strict=True):
        pl.DataFrame({"a": rows[:, 0], "b": rows[:, 1]}).write_csv(file)
    more = ["--discrepancy", "energy"] if command == "test" else []
    found = CliRunner().invoke(app, [command, *files, *more])
    assert found.exit_code == 2 or isinstance(found.exception, rdiv.errors.InputError)
