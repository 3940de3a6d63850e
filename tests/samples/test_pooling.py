"""The one door: what is refused, in one sentence, and what must simply work."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch.utils.data import Dataset, IterableDataset, TensorDataset

import rdiv
from rdiv.models import (
    Boosting,
    GaussianMixture,
    KernelDensity,
    Logistic,
    PrincipalComponents,
    Ridge,
)
from rdiv.samples import PooledSamples, pool_samples, resolve_seed

X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.where(X[:, 0] > 0, "up", "down")


def frame(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]} | columns)


def content(pooled: PooledSamples, side: bool) -> list[Any]:
    return sorted(pooled.pool.x[pooled.is_p == side].tolist())


class TestThePool:
    def test_every_row_is_there_once_with_its_origin_and_place(self) -> None:
        pooled = pool_samples(X[:12], X[12:], rng=0)
        assert content(pooled, True) == sorted(X[:12].tolist())
        assert content(pooled, False) == sorted(X[12:].tolist())
        files = {True: X[:12], False: X[12:]}
        for row, from_p, place in zip(pooled.pool.x, pooled.is_p, pooled.places, strict=True):
            assert row.tolist() == files[bool(from_p)][place].tolist()

    def test_places_in_frames(self) -> None:
        p, q = frame(), frame(a=[7.0, 8.0, 9.0])
        pooled = pool_samples(p, q, rng=0)
        for i, (from_p, place) in enumerate(zip(pooled.is_p, pooled.places, strict=True)):
            assert pooled.pool.x.row(i) == (p if from_p else q).row(int(place))

    def test_targets_and_designs_travel_with_their_rows(self) -> None:
        y = np.arange(30.0)
        groups = np.arange(30) // 2
        strata = np.array([f"s{i % 3}" for i in range(30)])
        x = y[:, None]
        pool = pool_samples(
            (x[:12], y[:12]), (x[12:], y[12:]), groups=(groups[:12], groups[12:]), rng=0
        ).pool
        assert pool.x[:, 0].tolist() == pool.y.tolist()
        pairs = {*zip(pool.groups.tolist(), (pool.y // 2).tolist(), strict=True)}
        assert len(pairs) == 15
        assert sorted(set(pool.groups.tolist())) == list(range(15))
        pool = pool_samples(x[:12], x[12:], strata=(strata[:12], strata[12:]), rng=0).pool
        assert len({*zip(pool.strata.tolist(), (pool.x[:, 0] % 3).tolist(), strict=True)}) == 3

    def test_the_order_is_a_function_of_rows_and_seed(self) -> None:
        one = pool_samples(X[:12], X[12:], rng=0)
        two = pool_samples(X[20:], X[:20][::-1], rng=0)
        other = pool_samples(X[:12], X[12:], rng=1)
        assert one.pool.x.tobytes() == two.pool.x.tobytes()
        assert one.entropy == two.entropy
        assert one.pool.x.tobytes() != other.pool.x.tobytes()
        one_row_changed = np.concatenate([X[:29], X[29:] + 1e-12])
        assert pool_samples(X[:12], one_row_changed[12:], rng=0).entropy != one.entropy

    def test_stages_have_streams_of_their_own(self) -> None:
        pooled = pool_samples(X[:12], X[12:], rng=0)
        draws = {
            stage: pooled.stream(stage).random() for stage in ("halves", "learn", "fit", "masks")
        }
        assert len(set(draws.values())) == 4
        assert pooled.stream("fit").random() == draws["fit"]  # fresh at every call

    def test_what_was_given_is_not_changed(self) -> None:
        p, q = X[:12].copy(), X[12:].copy()
        pooled = pool_samples(p, q, rng=0)
        pooled.pool.x[:] = 0
        assert p.tobytes() == X[:12].tobytes()
        assert q.tobytes() == X[12:].tobytes()

    def test_groups_are_taken_out_of_the_inputs_and_strata_stay(self) -> None:
        p, q = frame(g=["1", "1", "2"]), frame(g=["3", "4", "4"])
        assert pool_samples(p, q, groups="g", rng=0).pool.columns == ("a", "b")
        pool = pool_samples(p, p, strata="g", target="b", rng=0).pool
        assert pool.columns == ("a", "g")
        assert pool.x.columns == ["a", "g"]


class TestTheSeed:
    def test_an_integer_is_the_seed(self) -> None:
        assert resolve_seed(0) == 0
        assert resolve_seed(2**70) == 2**70
        assert resolve_seed(np.int64(5)) == 5
        assert pool_samples(X[:9], X[9:], rng=3).seed == 3

    def test_a_generator_gives_one_draw(self) -> None:
        rng = np.random.default_rng(1)
        seed = resolve_seed(rng)
        assert seed == int(np.random.default_rng(1).integers(2**53))
        assert resolve_seed(rng) != seed
        one = rdiv.two_sample_test(
            X[:9], X[9:], "energy", n_resamples=19, rng=np.random.default_rng(1)
        )
        assert one.seed == seed
        again = rdiv.two_sample_test(X[:9], X[9:], "energy", n_resamples=19, rng=seed)
        assert one.to_json() == again.to_json()

    def test_none_gives_a_fresh_one_that_is_recorded(self) -> None:
        seeds = {resolve_seed(None) for _ in range(5)}
        assert len(seeds) == 5
        assert all(0 <= seed < 2**53 for seed in seeds)
        result = rdiv.two_sample_test(X[:9], X[9:], "energy", n_resamples=19)
        again = rdiv.two_sample_test(X[:9], X[9:], "energy", n_resamples=19, rng=result.seed)
        assert result.to_json() == again.to_json()

    @pytest.mark.parametrize(
        "rng", [True, False, np.True_, 1.5, "1", np.random.RandomState(0), [1]]
    )
    def test_anything_else_is_refused(self, rng: Any) -> None:
        with pytest.raises(
            TypeError, match="rng must be an integer, a numpy Generator or None, got"
        ):
            resolve_seed(rng)

    def test_negative_seeds_are_refused(self) -> None:
        for rng in (-1, np.int64(-5)):
            with pytest.raises(ValueError, match="rng must be 0 or larger, got -"):
                resolve_seed(rng)


class Iterable(IterableDataset):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        return iter([torch.zeros(2)])


class Triples(Dataset):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> Any:
        return torch.zeros(2), 1, 2


REFUSED: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "other width": (
        X,
        X[:, :2],
        {},
        r"same columns, got p of shape \(30, 3\) and q of shape \(30, 2\)",
    ),
    "other columns": (frame(c=[1] * 3), frame(d=[1] * 3), {}, "'c' only in p and 'd' only in q"),
    "number and text": (frame(), frame(a=["u", "v", "w"]), {}, "'a'.*numeric in p and text in q"),
    "no rows": (np.zeros((0, 3)), X, {}, "at least 2 rows, got 0 in p and 30 in q"),
    "one row": (X, X[:1], {}, "at least 2 rows, got 30 in p and 1 in q"),
    "an empty list": ([], [], {}, "at least 2 rows, got 0 in p and 0 in q"),
    "an empty frame": (frame().clear(), frame(), {}, "at least 2 rows, got 0 in p"),
    "no columns": (np.zeros((5, 0)), np.zeros((5, 0)), {}, "at least one column"),
    "only a target": (
        frame().select("a"),
        frame().select("a"),
        {"target": "a"},
        "one input column",
    ),
    "ragged lists": (
        [[1.0], [1.0, 2.0]],
        X,
        {},
        "rectangular array, got rows of different lengths",
    ),
    "a number": (5.0, X, {}, "must have rows, got a single number"),
    "three parts": ((X, Y, Y), (X, Y, Y), {}, r"must be a pair \(X, y\), got 3 parts in p"),
    "one target": ((X, Y), X, {}, "a target or neither.*only for p"),
    "short target": ((X, Y[:5]), (X, Y), {}, "as many rows, got 30 and 5 in p"),
    "two targets": ((frame(), [1, 2, 3]), (frame(), [1, 2, 3]), {"target": "a"}, "not both"),
    "target of arrays": (X, X, {"target": "y"}, "target= names a column of a frame, got arrays"),
    "absent target": (
        frame(),
        frame(),
        {"target": "aa"},
        "'aa' in neither sample; did you mean 'a'",
    ),
    "target on one side": (frame(y=[1] * 3), frame(), {"target": "y"}, "found 'y' only in p"),
    "groups on one side": (frame(), frame(y=[1] * 3), {"groups": "y"}, "groups column.*only in q"),
    "one class": (
        frame(b=["x"] * 3),
        frame(b=["x"] * 3),
        {"target": "b"},
        "two classes in the pool, got only x",
    ),
    "twice a column": (
        pd.DataFrame(np.zeros((3, 2)), columns=["a", "a"]),
        frame(),
        {},
        "unique, got 'a' more than once",
    ),
    "inf in a frame": (frame(a=[1.0, np.inf, 2.0]), frame(), {}, r"finite or missing.*'a' \(1\)"),
    "NaN target": (
        (X, np.where(X[:, 0] > 1, np.nan, 1.0)),
        (X, X[:, 0]),
        {},
        "target must have no missing values",
    ),
    "images of two scales": (
        np.zeros((3, 1, 2, 2), np.uint8),
        np.zeros((3, 1, 2, 2)),
        {},
        "one scale, got uint8 in p",
    ),
    "groups in both": (X, X, {"groups": (np.arange(30), np.arange(30))}, "in both.*use strata="),
    "one group": (
        X,
        X,
        {"groups": (np.zeros(30), 1 + np.arange(30))},
        "at least 2 groups, got 1 in p",
    ),
    "short groups": (
        X,
        X,
        {"groups": (np.arange(30), [1, 2])},
        r"30 and 30 labels, got lengths \[30, 2\]",
    ),
    "missing groups": (
        X,
        X,
        {"groups": ([None, *range(29)], range(50, 80))},
        "groups must have no missing values, got 1",
    ),
    "groups of arrays": (X, X, {"groups": "g"}, "groups= names a column of a frame"),
    "strata apart": (
        X,
        X,
        {"strata": (np.zeros(30), np.ones(30))},
        "rows of both samples, got none",
    ),
    "groups across strata": (
        X,
        X,
        {
            "groups": (np.arange(30) // 3, 50 + np.arange(30) // 3),
            "strata": 2 * (np.arange(30) % 2,),
        },
        "a group must lie in one stratum, got 20",
    ),
    "groups in strata apart": (
        X,
        X,
        {
            "groups": (np.arange(30) // 3, 50 + np.arange(30) // 3),
            "strata": (["s"] * 30, ["t"] * 30),
        },
        "rows of both samples, got none",
    ),
    "the target as groups": (
        frame(),
        frame(),
        {"target": "b", "groups": "b"},
        "cannot be the target and the groups column at once",
    ),
    "a dataset of triples": (Triples(), Triples(), {}, r"pairs \(row, target\), got 3 parts in p"),
}
WRONG_TYPES: dict[str, tuple[Any, Any, str]] = {
    "text": (np.array([["a"], ["b"]]), X, "must hold numbers, got p of type <U1; pass a pandas"),
    "objects": (np.array([[None], [1]]), X, "must hold numbers, got p of type object"),
    "complex numbers": (X, X.astype(complex), "must hold numbers, got q of type complex"),
    "a name": ("file.csv", X, "got 'file.csv'; read the file first, with rdiv.read"),
    "nothing": (None, X, r"p must be an array, .* got None"),
    "an array and a frame": (X, frame(), "got an array and a frame"),
    "two libraries": (
        frame(),
        pd.DataFrame({"a": [1.0], "b": ["x"]}),
        "one library, got polars and pandas",
    ),
    "an iterable dataset": (Iterable(), Iterable(), "map-style dataset, got an iterable one"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_values_are_refused_in_a_sentence(case: str) -> None:
    p, q, how, words = REFUSED[case]
    with pytest.raises(ValueError, match=words) as refused:
        pool_samples(p, q, rng=0, **how)
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith((".", "?"))


@pytest.mark.parametrize("case", WRONG_TYPES)
def test_bad_types_are_refused_in_a_sentence(case: str) -> None:
    p, q, words = WRONG_TYPES[case]
    if case == "two libraries":
        q = pd.concat([q] * 3)
    with pytest.raises(TypeError, match=words) as refused:
        pool_samples(p, q, rng=0)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("model", ["kde", "gmm", "pca", "logistic", "ridge"])
def test_missing_values_in_an_array_are_counted_for_models_that_cannot_take_them(
    model: str,
) -> None:
    x = X.copy()
    x[3, 1], x[4, 2] = np.nan, np.inf
    y = X[:, 0] if model == "ridge" else Y
    with pytest.raises(
        ValueError, match=f"{model} needs finite inputs, got 2 .*columns 1, 2; drop"
    ):
        rdiv.two_sample_test((x[:15], y[:15]), (x[15:], y[15:]), model=model, rng=0)


def test_missing_values_in_an_array_are_fine_for_boosting() -> None:
    """Values are missing just where the label says so, and the model sees it."""
    x = np.random.default_rng(1).normal(size=(300, 2))
    y = np.where(x[:, 0] > 0.5, "up", "down")
    x[y == "up", 0] = np.nan
    result = rdiv.two_sample_test((x[:150], y[:150]), (x[150:], y[150:]), n_resamples=19, rng=0)
    assert max(result.risk_p, result.risk_q) < 0.1  # of 0.6 without looking


# What must simply work: each case gives the inputs of p and of q, with no warning on the way.

WIDE = np.random.default_rng(1).normal(size=(24, 60))
DAYS = [date(2024, 1, 1 + i) for i in range(24)]
NAMES = ["<script>alert(1)</script>", "🦊 & friends", "a\nb", "", "x__y"]
BASE = {
    "n": WIDE[:, 0].tolist(),
    "t": [str(v) for v in np.arange(24) % 3],
    "k": (np.arange(24) % 5).tolist(),
}


def cut(x: Any) -> tuple[Any, Any]:
    return x[:10], x[10:]


def halves(columns: dict[str, Any], make: Callable[..., Any] = pl.DataFrame) -> tuple[Any, Any]:
    whole = make(columns)
    if isinstance(whole, pa.Table):
        return whole.slice(0, 10), whole.slice(10)
    return whole[:10], whole[10:]


def categories() -> tuple[Any, Any]:
    p, q = (part.astype({"t": "category"}) for part in halves(BASE, pd.DataFrame))
    return p.assign(t=p["t"].cat.add_categories("never")), q.assign(
        t=q["t"].cat.rename_categories({"2": "9"})
    )


def nullable() -> tuple[Any, Any]:
    columns = {
        "i": [None, *range(23)],
        "f": [None, *WIDE[1:, 0]],
        "b": [None, *[True, False] * 11, True],
    }
    types = {"i": "Int64", "f": "Float64", "b": "boolean", "t": "string"}
    return halves(columns | {"t": [None, *BASE["t"][1:]]}, lambda c: pd.DataFrame(c).astype(types))


def dates() -> tuple[Any, Any]:
    p = pl.DataFrame({"d": DAYS[:10], "n": BASE["n"][:10]})
    times = [datetime(day.year, day.month, day.day, 5) for day in DAYS[10:]]
    return p, pl.DataFrame({"d": times, "n": BASE["n"][10:]})


def swapped_columns() -> tuple[Any, Any]:
    p, q = halves(BASE)
    return p, q.select("k", "t", "n")


WORKS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "emoji and HTML in names": lambda: halves({name: WIDE[:, i] for i, name in enumerate(NAMES)}),
    "emoji and HTML in pandas": lambda: halves(
        dict(zip(NAMES, BASE.values(), strict=False)), pd.DataFrame
    ),
    "constant columns": lambda: cut(np.column_stack([np.full(24, 0.1), WIDE[:, 0], np.zeros(24)])),
    "nothing but constants": lambda: cut(np.full((24, 2), 7.7)),
    "constant columns of a frame": lambda: halves(BASE | {"c": [3] * 24, "d": ["one"] * 24}),
    "duplicated rows": lambda: cut(np.repeat(WIDE[:6, :3], 4, axis=0)[np.arange(24) * 7 % 24]),
    "duplicated rows of a frame": lambda: halves({k: (v[:6] * 4) for k, v in BASE.items()}),
    "more columns than rows": lambda: cut(WIDE),
    "more columns than rows in a frame": lambda: halves({f"c{i}": WIDE[:, i] for i in range(60)}),
    "huge": lambda: cut(WIDE[:, :3] * 1e300),
    "tiny": lambda: cut(WIDE[:, :3] * 1e-300),
    "huge beside tiny": lambda: cut(WIDE[:, :3] * [1e300, 1.0, 1e-300]),
    "huge beside tiny in a frame": lambda: halves(
        {"a": WIDE[:, 0] * 1e300, "b": WIDE[:, 1] * 1e-300}
    ),
    "far from 0": lambda: cut(WIDE[:, :2] + 1e9),
    "all missing": lambda: halves(BASE | {"m": [None] * 24}),
    "all missing in pandas": lambda: halves(
        BASE | {"m": [None] * 24, "f": [np.nan] * 24}, pd.DataFrame
    ),
    "missing on one side": lambda: halves(
        BASE | {"m": [None] * 10 + BASE["n"][10:], "u": [None] * 10 + BASE["t"][10:]}
    ),
    "missing cells": lambda: halves(
        {k: [None if i % 4 == 1 else x for i, x in enumerate(v)] for k, v in BASE.items()}
    ),
    "NaN beside missing": lambda: halves(BASE | {"m": [float("nan"), None, 1.0] * 8}),
    "columns in another order": swapped_columns,
    "categories that differ": categories,
    "ints against floats": lambda: (WIDE[:10, :2].round().astype(int), WIDE[10:, :2]),
    "ints against floats in a frame": lambda: (
        pl.DataFrame({"a": range(10)}),
        pl.DataFrame({"a": WIDE[10:, 0]}),
    ),
    "booleans": lambda: cut(WIDE[:, :3] > 0),
    "dates against datetimes": dates,
    "nullable pandas": nullable,
    "pyarrow": lambda: halves(BASE, pa.table),
    "pyarrow with missing cells": lambda: halves(
        BASE | {"m": [None, 1.0] * 12, "d": DAYS}, pa.table
    ),
    "tensors": lambda: cut(torch.tensor(WIDE[:, :3])),
    "float32 tensors that need gradients": lambda: cut(
        torch.tensor(WIDE[:, :2], dtype=torch.float32, requires_grad=True)
    ),
    "lists": lambda: cut(WIDE[:, :2].tolist()),
    "one list of numbers": lambda: cut(WIDE[:, 0].tolist()),
    "one dimension": lambda: cut(WIDE[:, 0]),
    "a pandas series": lambda: cut(pd.Series(WIDE[:, 0])),
    "images": lambda: cut(np.abs(WIDE[:, :48]).reshape(24, 3, 4, 4)),
    "uint8 images": lambda: cut((np.abs(WIDE[:, :48]) * 80).astype(np.uint8).reshape(24, 3, 4, 4)),
    "float16": lambda: cut(WIDE[:, :2].astype(np.float16)),
    "read-only and strided": lambda: cut(np.broadcast_to(WIDE[:, :1], (24, 3))[::-1]),
    "rare and many levels": lambda: halves(BASE | {"id": [f"id {i}" for i in range(24)]}),
    "four rows a side": lambda: (WIDE[:4, :2], WIDE[4:8, :2]),
}

FEW = {"nothing but constants"}  # fewer distinct rows than folds

MODELS: dict[str, tuple[Any, Callable[[int], np.ndarray] | None]] = {
    "kde": (KernelDensity(), None),
    "gmm": (GaussianMixture(), None),
    "pca": (PrincipalComponents(), None),
    "logistic": (Logistic(), lambda n: np.array(["a", "b", "b"])[np.arange(n) % 3]),
    "ridge": (Ridge(), lambda n: np.cos(np.arange(n))),
    "boosting classes": (Boosting(iterations=5), lambda n: np.arange(n) % 2 == 0),
    "boosting numbers": (Boosting(iterations=5), lambda n: np.sin(np.arange(n))),
}


@pytest.mark.parametrize("folds", [None, 5])
@pytest.mark.parametrize("case", WORKS)
def test_it_simply_works(case: str, folds: int | None) -> None:
    if folds and case in FEW:
        pytest.skip("five folds need five distinct rows")
    for model, target in MODELS.values():
        p, q = WORKS[case]()
        if target is not None:
            p, q = (p, target(len(p))), (q, target(len(q)))
        result = rdiv.two_sample_test(p, q, model=model, folds=folds, n_resamples=19, rng=0)
        assert np.isfinite([result.statistic, result.risk_p, result.risk_q]).all()
        assert result.to_json()


@pytest.mark.parametrize("case", WORKS)
def test_it_simply_works_without_a_model(case: str) -> None:
    p, q = WORKS[case]()
    result = rdiv.two_sample_test(p, q, "energy", n_resamples=19, rng=0)
    assert np.isfinite(result.statistic)
    assert result.statistic >= 0


@pytest.mark.parametrize("folds", [None, 5])
@pytest.mark.parametrize("model", ["logistic", Boosting(iterations=5), None], ids=str)
@pytest.mark.parametrize("n_rare", [1, 4])
def test_a_class_on_one_side_only(model: Any, folds: int | None, n_rare: int) -> None:
    y = np.array(["a", "b"])[np.arange(24) % 2].astype("<U9")
    y[:n_rare] = "only in p"
    p, q = (WIDE[:10, :2], y[:10]), (WIDE[10:, :2], y[10:])
    result = rdiv.two_sample_test(p, q, model=model, folds=folds, n_resamples=19, rng=0)
    assert np.isfinite(result.statistic)
    table = pl.DataFrame({"x": WIDE[:, 0], "y": y})
    again = rdiv.two_sample_test(
        table[:10], table[10:], target="y", model=model, folds=folds, n_resamples=19, rng=0
    )
    assert np.isfinite(again.statistic)


def test_frames_with_their_target_apart() -> None:
    table = pl.DataFrame(BASE)
    y = pl.Series("y", ["u", "v", "v"] * 8)
    together = table.with_columns(y)
    apart = rdiv.two_sample_test(
        (table[:10], y[:10]), (table[10:], y[10:]), model="logistic", n_resamples=19, rng=0
    )
    inside = rdiv.two_sample_test(
        together[:10], together[10:], target="y", model="logistic", n_resamples=19, rng=0
    )
    assert apart.statistic == inside.statistic
    assert apart.pvalue == inside.pvalue
    pandas = table.to_pandas()
    series = y.to_pandas()
    for target in (series, series.astype("category"), series.tolist(), series.to_frame()):
        p, q = (pandas[:10], target[:10]), (pandas[10:], target[10:])
        result = rdiv.two_sample_test(p, q, model="logistic", n_resamples=19, rng=0)
        assert result.statistic == pytest.approx(inside.statistic)


class Rows(Dataset):  # type: ignore[type-arg]
    """A map-style dataset without targets."""

    def __init__(self, x: np.ndarray) -> None:
        self.x = x

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int) -> Any:
        return self.x[i]


class TestDatasets:
    x = WIDE[:, :3]
    y = np.arange(24) % 2

    def test_rows_alone(self) -> None:
        plain = rdiv.two_sample_test(*cut(self.x), model="kde", n_resamples=19, rng=0)
        p, q = (Rows(part) for part in cut(self.x))
        assert (
            rdiv.two_sample_test(p, q, model="kde", n_resamples=19, rng=0).to_json()
            == plain.to_json()
        )
        single = [TensorDataset(torch.tensor(part)) for part in cut(self.x)]
        assert (
            rdiv.two_sample_test(*single, model="kde", n_resamples=19, rng=0).to_json()
            == plain.to_json()
        )

    def pairs(self) -> list[Any]:
        tensors = torch.tensor(self.x), torch.tensor(self.y)
        return [TensorDataset(*(t[rows] for t in tensors)) for rows in (slice(10), slice(10, None))]

    def test_rows_with_targets(self) -> None:
        plain = rdiv.two_sample_test(
            (self.x[:10], self.y[:10]),
            (self.x[10:], self.y[10:]),
            model="logistic",
            n_resamples=19,
            rng=0,
        )
        found = rdiv.two_sample_test(*self.pairs(), model="logistic", n_resamples=19, rng=0)
        assert found.to_json() == plain.to_json()

    def test_targets_of_a_dataset_count_when_no_model_is_named(self) -> None:
        result = rdiv.two_sample_test(*self.pairs(), n_resamples=19, rng=0)
        assert result.model == "boosting, 5 folds"
        assert result.notes["task"] == "classification"
        assert (
            rdiv.compare(*self.pairs(), n_resamples=19, rng=0).results["r-div"].model
            == result.model
        )
        assert (
            "target"
            in rdiv.two_sample_test(*self.pairs(), model="gmm", n_resamples=19, rng=0).notes
        )

    def test_tensors_with_targets(self) -> None:
        p, q = (
            (torch.tensor(x), torch.tensor(y))
            for x, y in zip(cut(self.x), cut(self.y), strict=True)
        )
        result = rdiv.two_sample_test(p, q, model="logistic", n_resamples=19, rng=0)
        plain = rdiv.two_sample_test(
            (self.x[:10], self.y[:10]),
            (self.x[10:], self.y[10:]),
            model="logistic",
            n_resamples=19,
            rng=0,
        )
        assert result.to_json() == plain.to_json()


def test_padding_inside_long_doubles_is_not_content() -> None:
    x = np.arange(8, dtype=np.longdouble)
    dirty = x.copy()
    if x.dtype.itemsize == 16:
        dirty.view(np.uint8).reshape(8, 16)[:, 10:] = 255  # ten bytes of number, six of padding
    assert (dirty == x).all()
    assert len(set(pool_samples(x, dirty, rng=0).pool.first_copy.tolist())) == 8


def test_strata_may_be_ints_in_one_sample_and_floats_in_the_other() -> None:
    pooled = pool_samples(
        X[:15], X[15:], strata=(np.arange(15) % 3, (np.arange(15) % 3).astype(float)), rng=0
    )
    assert len(set(pooled.pool.strata.tolist())) == 3


class TestContentNotEncoding:
    """The same numbers give the same pool, folds and p-value, however a computer writes them."""

    WHOLE = np.random.default_rng(5).integers(-3, 4, size=(70, 3))

    @pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float16, np.float32])
    @pytest.mark.parametrize("model", ["kde", "boosting", make_pipeline(StandardScaler(), PCA(1))])
    def test_types_of_an_array(self, dtype: type, model: Any) -> None:
        labelled = model == "boosting"
        y = np.array(["no", "yes"])[(self.WHOLE.sum(axis=1) > 0).astype(int)]

        def result(x: np.ndarray) -> str:
            p, q = ((x[:40], y[:40]), (x[40:], y[40:])) if labelled else (x[:40], x[40:])
            folds = None if model == "kde" else 3
            found = rdiv.two_sample_test(p, q, model=model, folds=folds, n_resamples=99, rng=0)
            return found.to_json()

        floats = self.WHOLE.astype(np.float64)
        assert result(self.WHOLE.astype(dtype)) == result(floats)
        assert result(np.where(floats == 0, -0.0, floats)) == result(floats)

    def test_datasets_of_two_types(self) -> None:
        class Rows(Dataset):  # type: ignore[type-arg]
            def __init__(self, x: np.ndarray) -> None:
                self.x = x

            def __len__(self) -> int:
                return len(self.x)

            def __getitem__(self, i: int) -> np.ndarray:
                return self.x[i]

        pools = [
            pool_samples(Rows(self.WHOLE[:40].astype(dtype)), Rows(self.WHOLE[40:]), rng=0).pool
            for dtype in (np.float32, np.int64)
        ]
        assert pools[0].keys.tobytes() == pools[1].keys.tobytes()
        assert pools[0].numbers().tobytes() == pools[1].numbers().tobytes()
        assert (
            pools[0].keys.tobytes()
            == pool_samples(self.WHOLE[:40], self.WHOLE[40:], rng=0).pool.keys.tobytes()
        )

    def test_images_are_single_precision_and_tables_double(self) -> None:
        images = self.WHOLE[:60].reshape(20, 1, 3, 3)
        for dtype in (np.uint8, np.float32, np.float64):
            x = np.abs(images).astype(dtype)
            assert pool_samples(x[:10], x[10:], rng=0).pool.numbers().dtype == np.float32
            table = x.reshape(20, 9)
            assert pool_samples(table[:10], table[10:], rng=0).pool.numbers().dtype == np.float64

    def test_missing_cells_of_any_library(self) -> None:
        cells = [1.0, None, 3.0, 4.0, None, 6.0]
        floats = [np.nan if cell is None else cell for cell in cells]
        decimals = [None if cell is None else Decimal(cell) for cell in cells]
        columns = [
            pd.DataFrame({"a": floats}),
            pd.DataFrame({"a": pd.array(cells, dtype="Int64")}),
            pl.DataFrame({"a": cells}),
            pl.DataFrame({"a": floats}),
            pl.DataFrame({"a": decimals}),
            pa.table({"a": cells}),
        ]
        keys = set()
        for whole in columns:
            cut = whole.slice if hasattr(whole, "slice") else lambda s, n, w=whole: w[s : s + n]
            keys.add(pool_samples(cut(0, 3), cut(3, 3), rng=0).pool.keys.tobytes())
        assert len(keys) == 1

    @pytest.mark.parametrize("order", ["ba", "ab"])
    def test_levels_of_categories_are_sorted_however_files_list_them(self, order: str) -> None:
        dtype = pd.CategoricalDtype(list(order))
        whole = pd.DataFrame({"a": pd.Series(list("abbaba"), dtype=dtype), "n": range(6)})
        pool = pool_samples(whole[:3], whole[3:], rng=0).pool
        assert pool.x["a"].cat.categories.tolist() == ["a", "b"]
