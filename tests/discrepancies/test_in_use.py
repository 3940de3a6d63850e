"""The model in use: known values, part A, copies, and rows that change sides."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

import rdiv
from rdiv.discrepancies import InUse
from rdiv.discrepancies.in_use import MOST_COPIES
from rdiv.errors import InputError
from rdiv.models import Frozen, as_model
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import PooledSamples, pool_samples
from rdiv.two_sample import part_of_reference, prepare, split_reference, two_sample_test


def linear(n: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, x[:, 0] + rng.normal(size=n)


def pooled_pair(n_p: int = 40, n_q: int = 30, seed: int = 0, **how: Any) -> PooledSamples:
    x, y = linear(n_p + n_q, seed)
    return pool_samples((x[:n_p], y[:n_p]), (x[n_p:], y[n_p:]), rng=3, **how)


def losses(model: Any, pooled: PooledSamples, part: NDArray[np.intp]) -> NDArray[np.float64]:
    """Losses of the tested rows, in the order of the pool, for a given part A."""
    split = split_reference(pooled, 0.5, part)
    learned = split.learned(InUse(model))
    found = prepare(learned, split.tested.pool, split.tested.stream("fit")).losses
    assert found is not None
    return found


def test_it_is_the_gap_of_a_model_fitted_to_part_a() -> None:
    """Against scikit-learn on the same rows."""
    pooled = pooled_pair()
    part = part_of_reference(pooled, 0.5)
    rows = np.setdiff1d(np.arange(70), part)
    x, y = pooled.pool.x, pooled.pool.y
    assert y is not None
    fit = LinearRegression().fit(x[part], y[part])
    expected = (fit.predict(x[rows]) - y[rows]) ** 2
    np.testing.assert_allclose(losses(LinearRegression(), pooled, part), expected, rtol=1e-9)
    samples = [(x[side], y[side]) for side in (pooled.is_p, ~pooled.is_p)]
    result = two_sample_test(*samples, "in-use", model=LinearRegression(), rng=3)
    is_p = pooled.is_p[rows]
    assert result.risk_p == pytest.approx(expected[is_p].mean())
    assert result.risk_q == pytest.approx(expected[~is_p].mean())
    assert result.statistic == pytest.approx(abs(expected[~is_p].mean() - expected[is_p].mean()))
    assert (result.notes["rows trained on"], result.notes["rows tested"]) == (20, 50)


@pytest.mark.parametrize("model", ["kde", "ridge", "boosting"])
@pytest.mark.parametrize("table", [False, True])
def test_rows_that_change_sides_change_no_loss_by_one_bit(model: str, table: bool) -> None:
    """The swap test: part A is passed in, rows are exchanged between B and C."""
    x, y = linear(120)
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"a": x[:, 0], "b": np.where(x[:, 1] > 0, "up", None), "y": y, "row": np.arange(120)}
    )

    def pooled(reference: NDArray[np.intp], current: NDArray[np.intp]) -> PooledSamples:
        if table:
            sides = [frame[rows].drop("row") for rows in (reference, current)]
            how = {} if model == "kde" else {"target": "y"}
            return pool_samples(*sides, rng=0, **how)
        if model == "kde":
            return pool_samples(x[reference], x[current], rng=0)
        return pool_samples((x[reference], y[reference]), (x[current], y[current]), rng=0)

    a, others = np.arange(30), np.arange(30, 120)
    first = pooled(np.r_[a, others[:40]], others[40:])
    part = np.flatnonzero(first.is_p & (first.places < 30))
    swapped = rng.permutation(others)
    second = pooled(np.r_[a, swapped[:40]], swapped[40:])
    again = np.flatnonzero(second.is_p & (second.places < 30))
    assert part.tolist() == again.tolist()
    assert losses(model, first, part).tobytes() == losses(model, second, again).tobytes()


def test_fits_that_begin_early_are_the_same() -> None:
    pooled = pooled_pair(60, 40)
    split = split_reference(pooled, 0.5)
    test = InUse(as_model("boosting"), n_jobs=2)
    early, late = split.learned(test), split.learned(test)
    early.begin_left_out()
    assert early.left_out is not None
    assert late.left_out is not None
    own = early.left_out.losses(early.trained)
    assert np.array_equal(own, late.left_out.losses(late.trained))
    again = pickle.loads(pickle.dumps(early))  # no thread is left in it
    assert np.array_equal(again.left_out.losses(again.trained), own)


def test_part_a_depends_on_the_reference_alone() -> None:
    """The same rows for every current sample, with other targets too; another seed, other rows."""
    x, y = linear(100)
    reference = x[:60], y[:60]

    def part(current: Any, seed: int = 0, target: Any = None) -> list[int]:
        own = reference if target is None else (reference[0], target)
        pooled = pool_samples(own, current, rng=seed)
        return sorted(pooled.places[part_of_reference(pooled, 0.5)].tolist())

    first = part((x[60:80], y[60:80]))
    assert part((x[80:], y[80:])) == first
    assert part((x[80:], y[80:]), target=-y[:60]) == first
    assert part((x[80:], y[80:]), seed=1) != first


def test_order_of_rows_in_the_file_does_not_matter() -> None:
    x, y = linear(80)
    turned = np.arange(50)[::-1]
    results = [
        two_sample_test((x[rows], y[rows]), (x[50:], y[50:]), "in-use", model="ridge", rng=0)
        for rows in (np.arange(50), turned)
    ]
    assert results[0].to_json() == results[1].to_json()


def test_copies_never_look_too_good() -> None:
    """A model that memorises: its loss on a copy of a training row would be 0."""
    x, y = linear(60)
    current = x[:40], y[:40]  # all of them stand in the reference
    result = two_sample_test(
        (x, y), current, "in-use", model=KNeighborsRegressor(1), n_resamples=99, rng=0
    )
    assert result.risk_p is not None
    assert result.risk_q is not None
    assert result.risk_q > 0.5 * result.risk_p  # a memory of part A would halve it and more


def test_few_copies_leave_the_losses_of_all_other_rows_alone() -> None:
    x, y = linear(400)
    pooled = pool_samples((x[:200], y[:200]), (x[200:], y[200:]), rng=0)
    part = part_of_reference(pooled, 0.5)
    copied = int(pooled.places[part[0]])
    more = np.r_[np.arange(200, 400), copied]
    with_copy = pool_samples((x[:200], y[:200]), (x[more], y[more]), rng=0)
    same = part_of_reference(with_copy, 0.5)
    assert sorted(with_copy.places[same]) == sorted(pooled.places[part])
    split = split_reference(with_copy, 0.5, same)
    learned = split.learned(InUse(as_model(KNeighborsRegressor(1))))
    found = learned.losses(split.tested.pool)
    plain = learned.fitted.losses(split.tested.pool.like(learned.trained))
    copies = learned.copies(split.tested.pool)
    assert len(copies) == 1
    assert plain[copies[0]] == 0.0
    assert found[copies[0]] > 0.0
    others = np.delete(np.arange(len(found)), copies)
    assert found[others].tobytes() == plain[others].tobytes()


def test_a_frequent_value_is_no_copy() -> None:
    """Discrete rows: leaving all rows of a value out would tell nothing of a model in use."""
    rng = np.random.default_rng(0)
    x = rng.integers(2, size=(400, 2)).astype(float)
    y = (x[:, 0] + rng.random(400) > 0.7).astype(int)
    pooled = pool_samples((x[:200], y[:200]), (x[200:], y[200:]), rng=0)
    split = split_reference(pooled, 0.5)
    learned = split.learned(InUse("logistic"))
    often = np.bincount(learned.trained.first_copy)
    assert often[often > 0].min() > MOST_COPIES
    assert not len(learned.copies(split.tested.pool))


@dataclass(frozen=True)
class Recording:
    """A model that keeps the rows that it was fitted to, and their numbers."""

    seen: list[NDArray[np.float64]]

    def fit(self, pool: Pool, rng: np.random.Generator) -> Recording:
        self.seen.append(pool.matrix())
        return self

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        return pool.matrix().sum(axis=1)


def test_the_preparation_is_that_of_part_a() -> None:
    """Scaled to mean 0 and variance 1 over part A, whatever the other rows are."""
    x, y = linear(100)
    far = np.where(np.arange(100) < 60, x[:, 0], 1000 + x[:, 0])
    frame = pl.DataFrame({"a": far, "y": y})
    model = Recording([])
    two_sample_test(frame[:60], frame[60:], "in-use", model=model, target="y", rng=0)
    numbers = model.seen[0]
    assert len(numbers) == 30
    assert numbers.mean() == pytest.approx(0, abs=1e-12)
    assert numbers.std() == pytest.approx(1)


def test_a_class_that_part_a_lacks_has_the_floor_probability() -> None:
    x, _ = linear(200)
    y = (x[:, 0] > 0).astype(int)
    late = np.where(x[100:, 0] > 1, 2, y[100:])
    result = two_sample_test((x[:100], y[:100]), (x[100:], late), "in-use", model="logistic", rng=0)
    share = float((late == 2).mean())
    assert result.risk_q is not None
    assert result.risk_q > 27.6 * share


def test_a_given_model_gives_the_bytes_of_r_div() -> None:
    x, y = linear(90)
    frozen = Frozen(LinearRegression().fit(x[:20], y[:20]), trained_on="neither")
    pair = (x[20:60], y[20:60]), (x[60:], y[60:])
    documents = [
        two_sample_test(*pair, name, model=frozen, rng=0).to_dict() for name in ("in-use", "r-div")
    ]
    assert documents[0].pop("discrepancy") == "in-use"
    assert documents[1].pop("discrepancy") == "r-div"
    assert documents[0] == documents[1]


@pytest.mark.parametrize(
    ("rows", "how", "sentence"),
    [
        (3, {}, "at least 2 rows of the reference to train on"),
        (40, {"groups": (np.arange(40) // 14, 9 + np.arange(30) // 5)}, "at least 2 groups"),
    ],
)
def test_too_little_to_train_on(rows: int, how: dict[str, Any], sentence: str) -> None:
    x, y = linear(70)
    with pytest.raises(InputError, match=sentence):
        two_sample_test(
            (x[:rows], y[:rows]), (x[40:], y[40:]), "in-use", model="ridge", rng=0, **how
        )


@pytest.mark.parametrize("share", [0.0, 1.0, -1, 2.0])
def test_a_share_lies_between_0_and_1(share: float) -> None:
    with pytest.raises(InputError, match="train_share"):
        InUse("ridge", train_share=share)


def test_folds_do_not_apply() -> None:
    x, y = linear(80)
    with pytest.raises(InputError, match="in-use trains one model"):
        two_sample_test((x[:40], y[:40]), (x[40:], y[40:]), "in-use", folds=5)


def test_it_finds_what_the_shared_model_learns_from_a_column() -> None:
    """A relation that turns round, and a column that says which file a row is from."""
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=400), np.arange(400) // 200])
    y = ((x[:, 0] * np.where(x[:, 1] == 0, 1, -1) + 0.3 * rng.normal(size=400)) > 0).astype(int)
    pair = (x[:200], y[:200]), (x[200:], y[200:])
    assert rdiv.two_sample_test(*pair, "in-use", rng=0).pvalue == 0.001
    assert rdiv.two_sample_test(*pair, "r-div", rng=0).pvalue > 0.01
