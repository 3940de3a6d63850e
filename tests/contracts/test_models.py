"""Every model is blind: its losses depend on the set of rows and the seed, to the last bit."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from rdiv.models import (
    BY_NAME,
    AlexNet,
    ConvNeXt,
    CrossFit,
    Frozen,
    Mlp,
    ResNet18,
    SeNet,
    Training,
    Vae,
    ViT,
    as_model,
)
from rdiv.samples import Pool, pool_samples
from rdiv.samples.fitting_rows import prepared_on

pytestmark = pytest.mark.trains

SEED, N_P, N = 7, 18, 45
QUICK = Training(epochs=1, batch_size=20)
TINY: dict[str, Any] = {  # networks as small as they come, on the smallest images they take
    "vae": Vae((8,), 2, training=QUICK),
    "mlp": Mlp((8,), QUICK),
    "alexnet": AlexNet(8, training=QUICK),
    "resnet18": ResNet18(8, (1, 1), QUICK),
    "senet": SeNet(8, (1, 1), QUICK),
    "convnext": ConvNeXt(8, (1, 1), training=QUICK),
    "vit": ViT(8, 1, dropout=0.1, training=QUICK),
}
SIDES = {"alexnet": 28, "resnet18": 8, "senet": 8, "convnext": 16, "vit": 8}
Evidence = Callable[[Any, Any], list[bytes]]


def supervised(name: str) -> bool:
    return getattr(BY_NAME[name], "task", None) != "density"


def labels(x: np.ndarray, name: str) -> np.ndarray:
    """A target that the model can take."""
    score = x.reshape(len(x), -1)[:, 0] + np.random.default_rng(3).normal(size=len(x))
    return (
        score if getattr(BY_NAME[name], "task", None) == "regression" else (score > 0).astype(int)
    )


def rows(n: int = N, *, seed: int = 0) -> np.ndarray:
    """Numbers with a few duplicated rows."""
    x = np.random.default_rng(seed).normal(size=(n, 3))
    x[-4:] = x[:4]
    return x


def rows_for(name: str) -> np.ndarray:
    """Rows that the model can take: a table, or images whose first pixel matters."""
    x = rows()
    if name not in SIDES:
        return x
    shape = (N, 1, SIDES[name], SIDES[name])
    pixels = np.random.default_rng(5).random(shape)
    pixels[:, 0, 0, :3] = x
    pixels[-4:] = pixels[:4]
    return pixels


def columns(n: int = N, *, seed: int = 0) -> dict[str, list[Any]]:
    """A table as users have them: missing cells, categories, text, booleans, dates."""
    rng = np.random.default_rng(seed)
    number, other = rng.normal(size=n).tolist(), rng.integers(0, 9, size=n).tolist()
    return {
        "amount": [None if i % 7 == 3 else v for i, v in enumerate(number)],
        "count": other,
        "region": [
            None if i % 11 == 5 else str(v) for i, v in enumerate(rng.choice(list("abc"), n))
        ],
        "note": [str(v) for v in rng.choice(["x", "y", "<b>"], n)],
        "sold": (rng.random(n) < 0.5).tolist(),
        "y": ["yes" if v + rng.normal() > 0 else "no" for v in number],
    }


def table(library: str, n: int = N) -> Any:
    if library == "polars":
        return pl.DataFrame(columns(n)).with_columns(pl.col("region").cast(pl.Categorical))
    return pd.DataFrame(columns(n)).astype({"region": "category"})


def take(whole: Any, order: np.ndarray) -> Any:
    if isinstance(whole, tuple):
        return tuple(part[order] for part in whole)
    return whole.iloc[order] if isinstance(whole, pd.DataFrame) else whole[order]


def resplits(whole: Any) -> Iterator[tuple[Any, Any]]:
    """The rows as they came, reordered inside each file, exchanged, and moved to other sizes."""
    n, rng = N, np.random.default_rng(11)
    yield take(whole, np.arange(N_P)), take(whole, np.arange(N_P, n))
    yield take(whole, rng.permutation(N_P)), take(whole, N_P + rng.permutation(n - N_P))
    for n_p in (N_P, N_P, N_P + 9, 2):
        order = rng.permutation(n)
        yield take(whole, order[:n_p]), take(whole, order[n_p:])


def assert_blind(evidence: Evidence, whole: Any) -> None:
    """The decisive check: no number per row may notice which file a row is in, or where."""
    first, *others = [evidence(p, q) for p, q in resplits(whole)]
    for other in others:
        assert other == first, "a number per row changed when rows changed files"


def through_the_door(model: Any, **how: Any) -> Evidence:
    """Keys, numbers and losses in the order of the pool, as bytes."""

    def evidence(p: Any, q: Any) -> list[bytes]:
        pooled = pool_samples(p, q, rng=SEED, kind=getattr(model, "task", None), **how)
        pool = pooled.pool
        losses = model.fit(pool, pooled.stream("fit")).losses(pool)
        assert losses.shape == (N,)
        assert losses.dtype == np.float64
        assert np.isfinite(losses).all()
        parts = [pool.keys, pool.numbers(), losses]
        return [part.tobytes() for part in parts if part is not None]

    return evidence


def variants(name: str) -> list[Any]:
    model = TINY[name] if name in TINY else BY_NAME[name]()
    return [model, CrossFit(model, 2 if name in TINY else 5)]


EVERY = [(name, i) for name in BY_NAME for i in (0, 1)]
ids = [f"{name}-{('in-sample', 'folds')[i]}" for name, i in EVERY]
every_model = pytest.mark.parametrize(("name", "variant"), EVERY, ids=ids)
every_model_of_tables = pytest.mark.parametrize(
    ("name", "variant"),
    [pair for pair in EVERY if pair[0] not in SIDES],
    ids=[i for i, pair in zip(ids, EVERY, strict=True) if pair[0] not in SIDES],
)


@every_model
def test_blind_on_arrays(name: str, variant: int) -> None:
    x = rows_for(name)
    whole = (x, labels(x, name)) if supervised(name) else x
    assert_blind(through_the_door(variants(name)[variant]), whole)


@every_model_of_tables
@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_blind_on_frames(name: str, variant: int, library: str) -> None:
    model = variants(name)[variant]
    target = "count" if getattr(model, "task", None) == "regression" else "y"
    assert_blind(through_the_door(model, target=target), table(library))


def pipeline() -> Pipeline:
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore")
    chosen = ColumnTransformer(
        [("numbers", numbers, ["amount", "count"]), ("levels", levels, ["region", "note"])]
    )
    return Pipeline([("columns", chosen), ("classify", LogisticRegression())])


def frozen(library: str) -> Frozen:
    before = columns(60, seed=5)
    frame = pl.DataFrame(before) if library == "polars" else pd.DataFrame(before)
    y = frame["y"].to_list()
    return Frozen(pipeline().fit(frame, y), trained_on="neither")


@pytest.mark.parametrize("library", ["polars", "pandas"])
@pytest.mark.parametrize("how", ["in-sample", "5 folds", "frozen"])
def test_blind_with_a_users_pipeline(library: str, how: str) -> None:
    fitted = as_model(pipeline())
    model = {"in-sample": fitted, "5 folds": CrossFit(fitted, 5), "frozen": frozen(library)}[how]
    assert_blind(through_the_door(model, target="y"), table(library))


@pytest.mark.parametrize("folds", [None, 5])
def test_blind_with_strata(folds: int | None) -> None:
    """Rows keep their stratum and may change sides within it."""
    model = BY_NAME["ridge"]() if folds is None else CrossFit(BY_NAME["ridge"](), folds)
    x, stratum = rows(), np.arange(N) % 5
    whole = (x, labels(x, "ridge"), stratum)

    def evidence(p: Any, q: Any) -> list[bytes]:
        return through_the_door(model, strata=(p[2], q[2]))(p[:2], q[:2])

    assert_blind(evidence, whole)


@pytest.mark.parametrize("folds", [None, 5])
def test_blind_with_groups(folds: int | None) -> None:
    """Whole groups change sides; rows of a group stay together."""
    model = BY_NAME["gmm"](2) if folds is None else CrossFit(BY_NAME["gmm"](2), folds)
    x, groups = rows(), np.arange(N) // 3
    first: list[bytes] | None = None
    for chosen in ([0, 1, 2, 3, 4, 5], [5, 7, 9, 11, 13, 14], [2, 3], range(13)):
        is_p = np.isin(groups, list(chosen))
        evidence = through_the_door(model, groups=(groups[is_p], groups[~is_p]))(x[is_p], x[~is_p])
        first = first or evidence
        assert evidence == first


@pytest.mark.parametrize("name", ["gmm", "ridge", "boosting", "mixed"])
@pytest.mark.parametrize("library", [None, "polars"])
def test_blind_where_some_rows_are_fitted(name: str, library: str | None) -> None:
    """Of a larger pool some rows are fitted, and keys name the folds."""
    folded = CrossFit(BY_NAME[name](), 3, fit_rows=25)
    if library is None:
        x = rows()
        whole = (x, labels(x, name)) if supervised(name) else x
        assert_blind(through_the_door(folded), whole)
    else:
        target = "count" if folded.task == "regression" else "y"
        prepared = Prepared(folded, 25)
        assert_blind(through_the_door(prepared, target=target), table(library))


@dataclass(frozen=True)
class Prepared:
    """A model behind a preparation that some rows have taught."""

    model: CrossFit
    most: int

    @property
    def task(self) -> str | None:
        return self.model.task

    def fit(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        return Prepared(self.model.fit(prepared_on(pool, self.most), rng), self.most)  # type: ignore[arg-type]

    def losses(self, pool: Pool) -> np.ndarray:
        return self.model.losses(prepared_on(pool, self.most))  # type: ignore[attr-defined, no-any-return]


def test_blind_with_groups_where_some_rows_are_fitted() -> None:
    x, groups = rows(), np.arange(N) // 3
    first: list[bytes] | None = None
    for chosen in ([0, 1, 2, 3, 4, 5], [5, 7, 9, 11, 13, 14], [2, 3]):
        is_p = np.isin(groups, chosen)
        how = {"groups": (groups[is_p], groups[~is_p])}
        folded = CrossFit(BY_NAME["gmm"](2), 3, fit_rows=25)
        evidence = through_the_door(folded, **how)(x[is_p], x[~is_p])
        first = first or evidence
        assert evidence == first


@dataclass(frozen=True)
class OnePass:
    """A correct learner that depends on the order of its rows: one pass of gradient steps."""

    centre: Any = None

    def fit(self, pool: Pool, rng: np.random.Generator) -> OnePass:
        centre = np.zeros(pool.numbers().shape[1])
        for row in pool.numbers():
            centre = centre + 0.3 * (row - centre)
        return OnePass(centre + 1e-3 * rng.normal(size=len(centre)))

    def losses(self, pool: Pool) -> np.ndarray:
        return np.square(pool.numbers() - self.centre).sum(axis=1)


def test_an_order_sensitive_model_is_blind_through_the_door() -> None:
    assert_blind(through_the_door(OnePass()), rows())


def test_the_check_catches_rows_in_file_order() -> None:
    """Deliberately broken variant: the same model on a pool that is not in canonical order."""

    def evidence(p: np.ndarray, q: np.ndarray) -> list[bytes]:
        pool = Pool(np.concatenate([p, q]))
        losses = OnePass().fit(pool, np.random.default_rng(SEED)).losses(pool)
        return [np.sort(losses).tobytes()]

    with pytest.raises(AssertionError, match="changed files"):
        assert_blind(evidence, rows())


def test_the_check_catches_a_shuffle_by_the_seed_alone() -> None:
    """Deliberately broken variant: shuffled by places in the files and not by content."""

    def evidence(p: np.ndarray, q: np.ndarray) -> list[bytes]:
        pool = Pool(np.random.default_rng(SEED).permutation(np.concatenate([p, q])))
        losses = OnePass().fit(pool, np.random.default_rng(SEED)).losses(pool)
        return [np.sort(losses).tobytes()]

    with pytest.raises(AssertionError, match="changed files"):
        assert_blind(evidence, rows())


def test_the_check_catches_a_model_that_peeks_at_the_files() -> None:
    """Deliberately broken variant: a model that remembers the first file and favours its rows."""

    @dataclass(frozen=True)
    class Peeks:
        first_file: np.ndarray

        def fit(self, pool: Pool, rng: np.random.Generator) -> Peeks:
            return self

        def losses(self, pool: Pool) -> np.ndarray:
            known = (pool.numbers()[:, None] == self.first_file[None]).all(axis=2).any(axis=1)
            return np.square(pool.numbers()).sum(axis=1) - 1e-12 * known

    with pytest.raises(AssertionError, match="changed files"):
        assert_blind(lambda p, q: through_the_door(Peeks(p))(p, q), rows())


def pool_for(name: str) -> Pool:
    x = rows_for(name)
    if not supervised(name):
        return Pool(x)
    y = labels(x, name)
    if y.dtype.kind == "f":
        return Pool(x, y=y, task="regression")
    return Pool(x, y=y, task="classification", classes=np.array(["no", "yes"]))


@every_model
def test_fitting_changes_nothing_and_repeats(name: str, variant: int) -> None:
    model, pool = variants(name)[variant], pool_for(name)
    before, settings = pool.x.copy(), repr(model)
    first, second = (
        model.fit(pool, np.random.default_rng(1)).losses(pool).tobytes() for _ in range(2)
    )
    assert first == second
    assert repr(model) == settings
    assert pool.x.tobytes() == before.tobytes()


@every_model
def test_models_and_their_fits_pickle(name: str, variant: int) -> None:
    model, pool = variants(name)[variant], pool_for(name)
    fitted = pickle.loads(pickle.dumps(model)).fit(pool, np.random.default_rng(1))
    again = pickle.loads(pickle.dumps(fitted))
    assert again.losses(pool).tobytes() == fitted.losses(pool).tobytes()


@every_model
def test_fitted_models_judge_other_rows(name: str, variant: int) -> None:
    model, pool = variants(name)[variant], pool_for(name)
    fitted = model.fit(pool, np.random.default_rng(1))
    losses = fitted.losses(pool.take(np.array([5, 2, 9])))
    assert losses.shape == (3,)
    assert np.isfinite(losses).all()


def assert_same_in_any_block(fitted: Any, pool: Pool) -> None:
    """The loss of a row has the same bits whatever rows it is computed with."""
    whole, rng = fitted.losses(pool), np.random.default_rng(2)
    for size in (1, 2, 3, 17, 40, len(pool) // 2, len(pool) - 1):
        rows = rng.permutation(len(pool))[:size]
        part = fitted.losses(pool.take(rows))
        assert part.tobytes() == whole[rows].tobytes(), "a loss changed with the block"


def wide_pool(name: str) -> Pool:
    """Rows whose lengths are no multiple of a cache line, in more than one block of a network."""
    if name in SIDES:
        return pool_for(name)
    x = np.random.default_rng(4).normal(size=(300, 7))
    x[-4:] = x[:4]
    x[0] *= 1e3  # far from all others
    if not supervised(name):
        return Pool(x)
    y = labels(x, name)
    if y.dtype.kind == "f":
        return Pool(x, y=y, task="regression")
    return Pool(x, y=y, task="classification", classes=np.array(["no", "yes"]))


@pytest.mark.parametrize("name", BY_NAME)
def test_a_row_has_one_loss_in_any_block_of_an_array(name: str) -> None:
    pool = wide_pool(name)
    fitted = variants(name)[0].fit(pool, np.random.default_rng(1))
    assert_same_in_any_block(fitted, pool)
    others = pool.take(np.arange(0, len(pool), 2))  # half of the rows were not fitted
    assert_same_in_any_block(variants(name)[0].fit(others, np.random.default_rng(1)), pool)


@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in SIDES])
@pytest.mark.parametrize("kept", [True, False])
def test_a_row_has_one_loss_in_any_block_of_a_table(
    name: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kept:  # numbers are made anew for every part of a large table
        monkeypatch.setattr("rdiv.samples.rows.MOST_KEPT", 0)
    model, whole = variants(name)[0], table("polars", 301)
    target = "count" if getattr(model, "task", None) == "regression" else "y"
    pool = pool_samples(
        whole[:100], whole[100:], rng=0, target=target, kind=getattr(model, "task", None)
    ).pool
    assert_same_in_any_block(model.fit(pool, np.random.default_rng(1)), pool)


def test_the_check_catches_a_loss_that_looks_at_its_block() -> None:
    """Deliberately broken variant: losses around the mean of whatever rows were asked for."""

    @dataclass(frozen=True)
    class Centred:
        def losses(self, pool: Pool) -> np.ndarray:
            return np.square(pool.numbers() - pool.numbers().mean(axis=0)).sum(axis=1)

    with pytest.raises(AssertionError, match="with the block"):
        assert_same_in_any_block(Centred(), wide_pool("gmm"))


@pytest.mark.parametrize("name", BY_NAME)
def test_every_named_model_says_its_task_and_has_a_short_text(name: str) -> None:
    from rdiv.names import spelled

    model = BY_NAME[name]()
    assert getattr(model, "task", None) in (None, "density", "classification", "regression")
    assert spelled(model, BY_NAME) == name
