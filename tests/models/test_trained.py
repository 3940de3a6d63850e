"""Trained: a model fitted on a third table, judged on the samples as it is."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import rdiv
from rdiv.errors import InputError, InputTypeError
from rdiv.models import Boosting, CrossFit, Frozen, Logistic, Trained, same_model
from rdiv.samples import Pool, pool_samples

pytestmark = pytest.mark.trains

MAKERS = pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame], ids=["polars", "pandas"])


def rows(seed: int, n: int = 120, **changed: Any) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    size, kind = rng.normal(size=n), np.array(["a", "b", "c"])[rng.integers(3, size=n)]
    y = np.where(size + (kind == "a") + rng.normal(size=n) > 0, "yes", "no")
    return {"size": size, "kind": kind, "count": rng.integers(9, size=n), "y": y, **changed}


def pool_of(p: Any, q: Any, **named: Any) -> Pool:
    return pool_samples(p, q, target="y", rng=0, **named).pool


def fitted(model: Trained, pool: Pool, seed: int = 0) -> Any:
    return model.fit(pool, np.random.default_rng(seed))


@MAKERS
def test_it_is_the_model_of_the_third_table_alone(make: Any) -> None:
    """The losses are those of the same model fitted there, with the preparation from there."""
    table = make(rows(1))
    pool = pool_of(make(rows(2)), make(rows(3, size=5 + rows(3)["size"])))
    found = fitted(Trained("logistic", table, "y"), pool).losses(pool)
    labels = {"y": (rows(1)["y"] == "yes").astype(int), "classes": np.array(["no", "yes"])}
    whole = Pool(table[["size", "kind", "count"]], **labels, task="classification")
    plain = Logistic().fit(whole, np.random.default_rng(0))
    assert found == pytest.approx(plain.losses(pool.like(whole)), abs=1e-4)
    assert found != pytest.approx(plain.losses(pool), abs=1e-2)  # the preparation matters


@MAKERS
def test_a_pipeline_gets_the_frame(make: Any) -> None:
    chosen = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    pipeline = make_pipeline(chosen, LogisticRegression(max_iter=500))
    table, p, q = (make(rows(seed)) for seed in (1, 2, 3))
    pool = pool_of(p, q)
    found = fitted(Trained(pipeline, table, "y"), pool).losses(pool)
    inputs = ["size", "kind", "count"]
    direct = pipeline.fit(table[inputs], np.array(table["y"]))
    probable = direct.predict_proba(pool.x)[np.arange(240), pool.y]
    assert found == pytest.approx(-np.log(probable), abs=1e-3)


def test_order_and_origin_do_not_matter_and_the_seed_decides() -> None:
    table = pl.DataFrame(rows(1))
    other = table[np.random.default_rng(0).permutation(120)].select("y", "count", "kind", "size")
    pool = pool_of(pl.DataFrame(rows(2)), pl.DataFrame(rows(3)))
    model = Trained("mlp", table, "y") if _has_torch() else Trained("boosting", table, "y")
    losses = fitted(model, pool).losses(pool)
    again = fitted(Trained(model.model, other, "y"), pool).losses(pool)
    assert again.tobytes() == losses.tobytes()
    assert fitted(model, pool, seed=0).losses(pool).tobytes() == losses.tobytes()
    part = pool.take(np.arange(7))
    assert fitted(model, pool).losses(part) == pytest.approx(losses[:7])
    if _has_torch():
        assert fitted(model, pool, seed=1).losses(pool).tobytes() != losses.tobytes()


def _has_torch() -> bool:
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


@MAKERS
def test_types_that_differ_are_agreed_on(make: Any) -> None:
    plain = make(rows(1))
    count = [float(value) for value in rows(1)["count"]]
    kinds = rows(1)["kind"].tolist()
    polars = make is pl.DataFrame
    category = pl.Series(kinds, dtype=pl.Categorical) if polars else pd.Categorical(kinds)
    typed = make(rows(1, count=count, kind=category))
    pool = pool_of(make(rows(2)), make(rows(3)))
    wanted = fitted(Trained("boosting", plain, "y"), pool).losses(pool)
    model = Trained("boosting", typed, "y")
    assert fitted(model, pool).losses(pool) == pytest.approx(wanted)
    assert model.overlap(pool_of(make(rows(2)), plain)) == 120


@MAKERS
def test_levels_and_missing_cells_that_the_table_never_saw(make: Any) -> None:
    kinds = rows(2)["kind"].astype(object)
    kinds[:5], kinds[5:9] = "new", None
    holes = rows(2)["size"].astype(object)
    holes[:3] = None
    pool = pool_of(make(rows(2, kind=kinds.tolist(), size=holes.tolist())), make(rows(3)))
    for model in ("logistic", "boosting"):
        assert np.isfinite(fitted(Trained(model, make(rows(1)), "y"), pool).losses(pool)).all()


def test_classes_that_only_one_side_has() -> None:
    table = rows(1)
    table["y"] = np.where(table["size"] > 1, "more", table["y"])
    reference = rows(2)
    reference["y"] = reference["y"].astype("<U7")
    reference["y"][:4] = "unknown"
    pool = pool_of(pl.DataFrame(reference), pl.DataFrame(rows(3)))
    found = fitted(Trained("boosting", pl.DataFrame(table), "y"), pool)
    losses, probable = found.losses(pool), found.probabilities(pool)
    assert pool.classes.tolist() == ["no", "unknown", "yes"]
    assert losses[pool.y == 1] == pytest.approx([-np.log(1e-12)] * 4)
    assert losses[pool.y != 1].max() < -np.log(1e-12) / 2
    assert probable.shape == (240, 3)
    assert probable[np.arange(240), pool.y].clip(1e-12) == pytest.approx(np.exp(-losses))
    assert probable.sum(axis=1).min() < 0.9  # the rest is that of the class "more"
    gradients, owners = found.gradients(pool), found.gradient_owners(pool)
    assert gradients.shape == (240, len(owners))


def test_arrays_regression_and_densities() -> None:
    x = np.random.default_rng(0).normal(size=(3, 80, 2))
    p, q = ((part, part[:, 0]) for part in x[1:])
    found = rdiv.two_sample_test(p, q, model=Trained("ridge", (x[0], x[0, :, 0])), rng=0)
    assert found.risk_p == pytest.approx(0, abs=1e-3)
    assert found.model == "ridge trained on 80 other rows"
    pool = Pool(x[1])
    density = Trained("gmm", x[0])
    assert density.task == "density"
    assert np.isfinite(fitted(density, pool).losses(pool)).all()
    assert density.loss_name(pool) == "negative log density"


def test_what_it_says_of_itself() -> None:
    model = Trained("boosting", pl.DataFrame(rows(1)), "y")
    pool = pool_of(pl.DataFrame(rows(2)), pl.DataFrame(rows(3)))
    assert str(model) == repr(model) == "boosting trained on 120 other rows"
    assert (model.given, model.held_out, model.task) == (True, True, None)
    assert model.loss_name(pool) == "log loss"
    assert same_model(model) == Boosting()
    copy = pickle.loads(pickle.dumps(fitted(model, pool)))
    assert copy.losses(pool).tobytes() == fitted(model, pool).losses(pool).tobytes()


def test_rows_that_stand_in_the_samples_too_are_counted() -> None:
    table = pl.DataFrame(rows(1))
    model = Trained("boosting", table, "y", drop=("note",))
    assert model.overlap(pool_of(pl.DataFrame(rows(2)), pl.DataFrame(rows(3)))) == 0
    assert model.overlap(pool_of(pl.DataFrame(rows(2)), table[:30])) == 30
    flipped = table[:30].with_columns(
        y=pl.Series(["no", "yes"])[(table["y"][:30] == "no").cast(int)]
    )
    assert model.overlap(pool_of(pl.DataFrame(rows(2)), flipped)) == 0
    twice = pl.concat([table[:30], table[:30]])
    assert model.overlap(pool_of(pl.DataFrame(rows(2)), twice)) == 30
    p, q = (pl.DataFrame(rows(seed, house=seed * 100 + np.arange(120) // 2)) for seed in (2, 1))
    assert model.overlap(pool_of(p, q, groups="house")) == 120  # groups are no part of a row


def test_columns_that_were_dropped_may_stand_there() -> None:
    pool = pool_of(pl.DataFrame(rows(2)), pl.DataFrame(rows(3)))
    more = pl.DataFrame(rows(1, note=["x"] * 120))
    plain = fitted(Trained("boosting", pl.DataFrame(rows(1)), "y"), pool).losses(pool)
    found = fitted(Trained("boosting", more, "y", drop=("note",)), pool).losses(pool)
    assert found.tobytes() == plain.tobytes()


def without(name: str) -> pl.DataFrame:
    return pl.DataFrame(rows(1)).drop(name)


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        (pl.DataFrame(rows(1, note=["x"] * 120)), "has 'note', which the samples do not have"),
        (without("kind"), "lacks 'kind'"),
        (without("y"), "lacks 'y'"),
        (pl.DataFrame(rows(1, kind=np.arange(120))), "'kind' .* numeric in the training table and"),
        (pl.DataFrame(rows(1, y=np.arange(120) % 2)), "has the classes '0', '1', and the samples"),
        (pl.DataFrame(rows(1, y=["yes"] * 120)), "has only the class yes"),
        (pl.DataFrame(rows(1, y=["yes", None] * 60)), "no missing values, got 60 of 120"),
        (pl.DataFrame(rows(1, size=[np.inf] * 120)), "infinite values in 'size'"),
        (pd.DataFrame(rows(1)), "training table and the samples must be frames of one library"),
        (np.zeros((9, 3)), "it is an array, and the samples are frames"),
    ],
)
def test_tables_that_do_not_fit_are_one_sentence(sample: Any, words: str) -> None:
    pool = pool_of(pl.DataFrame(rows(2)), pl.DataFrame(rows(3)))
    with pytest.raises(InputError, match=words) as raised:
        fitted(Trained("boosting", sample, "y"), pool)
    assert "the training table" in str(raised.value)


def test_arrays_that_do_not_fit_are_one_sentence() -> None:
    x = np.random.default_rng(0).normal(size=(20, 3))
    pool = Pool(x, y=x[:, 0], task="regression")
    with pytest.raises(InputError, match=r"rows of shape \(2,\), and the samples of shape \(3,\)"):
        fitted(Trained("ridge", (x[:, :2], x[:, 0])), pool)
    with pytest.raises(InputError, match="it has no target"):
        fitted(Trained("ridge", x), pool)
    with pytest.raises(InputError, match="finite numbers as in the samples, got 'a'"):
        fitted(Trained("ridge", (x, ["a"] * 20)), pool)
    with pytest.raises(InputTypeError, match="it is a frame, and the samples are arrays"):
        fitted(Trained("ridge", pl.DataFrame(x), "column_0"), pool)


def test_models_that_cannot_be_trained_there() -> None:
    x = np.zeros((5, 2))
    with pytest.raises(InputError, match="needs a model to train, got boosting, 5 folds"):
        Trained(CrossFit(Boosting(), 5), (x, x[:, 0]))
    fixed = Frozen(LogisticRegression().fit([[0], [1]], [0, 1]), trained_on="neither")
    with pytest.raises(InputError, match=r"needs a model to train, got Frozen\(Log"):
        Trained(fixed, (x, x[:, 0]))
    with pytest.raises(InputError, match="the training table needs at least 2 rows, got 1"):
        Trained("ridge", (x[:1], x[:1, 0]))
    with pytest.raises(InputError, match="unknown model 'bosting'"):
        Trained("bosting", (x, x[:, 0]))
    with pytest.raises(InputError, match=r"read the file first, with rdiv\.read"):
        Trained("ridge", "train.csv")


def test_it_is_blind_to_the_origin_of_rows() -> None:
    """Rows exchanged between the samples leave every loss as it was, to the last bit."""
    both = pl.concat([pl.DataFrame(rows(2)), pl.DataFrame(rows(3))])
    order = np.random.default_rng(0).permutation(240)
    model = Trained("boosting", pl.DataFrame(rows(1)), "y")
    found = []
    for one in (both, both[order]):
        pool = pool_of(one[:100], one[100:])
        found.append(fitted(model, pool).losses(pool).tobytes())
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ridge", "boosting"])
def test_false_alarms_stay_at_their_level(name: str) -> None:
    rng = np.random.default_rng(0)
    draws, alarms = 1000, 0
    x = rng.normal(size=(60, 2))
    model = Trained(name, (x, x[:, 0] + rng.normal(size=60)))
    for seed in range(draws):
        x = rng.normal(size=(50, 2))
        y = x[:, 0] + rng.normal(size=50)
        p, q = (x[:20], y[:20]), (x[20:], y[20:])
        alarms += rdiv.two_sample_test(p, q, model=model, n_resamples=19, rng=seed).rejected
    assert abs(alarms - 0.05 * draws) < 4 * np.sqrt(0.05 * 0.95 * draws)
