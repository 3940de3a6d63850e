"""Sources from samples, files and functions of a user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rdiv
from rdiv.sources import BY_NAME, Blob, Drawn, Pair, Source, as_source

RNG = np.random.default_rng


def as_kind(kind: str, numbers: np.ndarray) -> Any:
    """The same rows as an array, a frame or a pair (X, y)."""
    table = {"a": numbers, "b": [f"row {i}" for i in numbers]}
    target = np.array(["no", "yes"])[numbers.astype(int) % 2]
    return {
        "array": numbers[:, None],
        "flat": numbers,
        "list": numbers.tolist(),
        "pandas": pd.DataFrame(table, index=numbers + 1000),
        "polars": pl.DataFrame(table),
        "pyarrow": pl.DataFrame(table).to_arrow(),
        "arrays and target": (numbers[:, None], numbers * 2),
        "frame and target": (pd.DataFrame(table), pd.Series(target)),
        "polars and target": (pl.DataFrame(table), pl.Series(target)),
    }[kind]


def numbers_of(sample: Any) -> np.ndarray:
    rows = sample[0] if isinstance(sample, tuple) else sample
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows["a"]).ravel()


KINDS = ["array", "flat", "list", "pandas", "polars", "pyarrow"]
KINDS += ["arrays and target", "frame and target", "polars and target"]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_taken_without_replacement(kind: str) -> None:
    given = as_kind(kind, np.arange(20.0)), as_kind(kind, np.arange(100.0, 140.0))
    p, q = Pair(*given, ratio=2).draw(15, RNG(0))
    a, b = numbers_of(p), numbers_of(q)
    assert (len(a), len(b)) == (15, 30)
    assert len({*a}) == 15
    assert {*a} <= {*np.arange(20.0)}
    assert len({*b}) == 30
    assert {*b} <= {*np.arange(100.0, 140.0)}
    np.testing.assert_array_equal(numbers_of(Pair(*given, ratio=2).draw(15, RNG(0))[1]), b)
    if kind not in ("flat", "list", "array") and "target" not in kind:
        assert type(p) is type(given[0])


@pytest.mark.parametrize("kind", KINDS)
def test_null_samples_are_disjoint_rows_of_p(kind: str) -> None:
    source = Pair(as_kind(kind, np.arange(20.0)), as_kind(kind, np.arange(100.0, 105.0)), ratio=1.5)
    p, q = source.draw(8, RNG(0), null=True)
    rows = [*numbers_of(p), *numbers_of(q)]
    assert (len(numbers_of(p)), len({*rows})) == (8, 20)
    assert {*rows} == {*np.arange(20.0)}


def test_targets_stay_with_their_rows() -> None:
    pairs = (
        as_kind("arrays and target", np.arange(30.0)),
        as_kind("arrays and target", RNG(1).random(30)),
    )
    p, q = Pair(*pairs).draw(10, RNG(0))
    np.testing.assert_array_equal(p[1], 2 * p[0].ravel())
    np.testing.assert_array_equal(q[1], 2 * q[0].ravel())


@pytest.mark.parametrize(
    ("n", "ratio", "null", "sentence"),
    [
        (21, 1.0, False, "mine has 20 \\+ 30 rows, got a draw of 21 \\+ 21; ask for fewer"),
        (20, 2.0, False, "got a draw of 20 \\+ 40; ask"),
        (11, 1.0, True, "got a draw of 11 \\+ 11 disjoint rows of p; ask"),
    ],
)
def test_too_few_rows(n: int, ratio: float, null: bool, sentence: str) -> None:
    source = Pair(np.arange(20.0), np.arange(30.0), ratio=ratio, name="mine")
    with pytest.raises(ValueError, match=sentence):
        source.draw(n, RNG(0), null=null)


@pytest.mark.parametrize("kind", KINDS)
def test_the_fingerprint_is_that_of_the_data(kind: str) -> None:
    def text(p: np.ndarray, q: np.ndarray) -> str:
        return Pair(as_kind(kind, p), as_kind(kind, q)).fingerprint()

    p, q = np.arange(10.0), np.arange(5.0)
    assert text(p, q) == text(p.copy(), q.copy())
    others = [text(q, p), text(p[::-1], q), text(p + 1, q), text(p[:9], q), text(p, q + 1)]
    assert text(p, q) not in others


def test_a_study_of_frames_with_a_target() -> None:
    rng = RNG(0)
    x = pd.DataFrame({"a": rng.normal(size=80), "b": rng.choice(["u", "v"], size=80)})
    source = Pair((x, x["a"] + 0.1 * rng.normal(size=80)), (x, x["a"] + 3 * rng.normal(size=80)))
    found = rdiv.power_study(source, ["r-div:ridge", "energy"], sizes=30, trials=4, null=True)
    assert found.table()["model"] == ["ridge", None] * 2
    assert found.table()["rate"][0] == 1.0


def test_a_function() -> None:
    def steps(n: int, rng: np.random.Generator, null: bool) -> tuple[np.ndarray, np.ndarray]:
        return rng.normal(size=n), rng.normal(size=2 * n) + (0 if null else 10)

    source = as_source(steps)
    assert isinstance(source, Drawn)
    assert str(source) == "steps"
    p, q = source.draw(5, RNG(0))
    assert (len(p), len(q)) == (5, 10)
    assert q.min() > 5 > source.draw(5, RNG(0), null=True)[1].max()
    np.testing.assert_array_equal(p, steps(5, RNG(0), False)[0])


def test_what_is_a_source() -> None:
    class Mine:
        def draw(self, n: int, rng: np.random.Generator, null: bool = False) -> Any:
            return rng.normal(size=n), rng.normal(size=n)

    mine = Mine()
    assert as_source(mine) is mine
    assert as_source("blob") == Blob()
    pair = as_source((np.arange(3.0), np.arange(4.0)))
    assert isinstance(pair, Pair)
    assert all(isinstance(source, Source) for source in (mine, Blob(), pair))
    assert all(isinstance(cls(), Source) for cls in BY_NAME.values())


def test_a_pair_of_files(tmp_path: Path) -> None:
    np.save(tmp_path / "before.npy", np.arange(9.0))
    np.save(tmp_path / "after.npy", np.arange(50.0, 59.0))
    source = as_source((str(tmp_path / "before.npy"), tmp_path / "after.npy"))
    assert str(source) == "before.npy + after.npy"
    p, q = source.draw(9, RNG(0))
    assert sorted(p) == [*range(9)]
    assert sorted(q) == [*range(50, 59)]


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        ("blobb", ValueError, "unknown source 'blobb'; did you mean 'blob'\\? Known: blob, "),
        (Blob, TypeError, "must be an object, got the class Blob; add \\(\\)"),
        (3, TypeError, "a name, an object with draw.*, got int"),
        (np.arange(3), TypeError, "a pair of samples, got ndarray"),
        ((1, 2, 3), TypeError, "got tuple"),
        (None, TypeError, "got NoneType"),
    ],
)
def test_what_is_no_source(given: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        as_source(given)
