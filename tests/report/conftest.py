"""Comparisons to put on pages: whole and partial ones, hostile names, many at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from tests.cli.conftest import table as plain_table
from tests.report.hostile import NAMES, table

import rdiv
from rdiv import Comparison, Comparisons
from rdiv.drivers.result import ColumnDriver
from rdiv.inference.intervals import Interval
from rdiv.models import Frozen
from rdiv.report import comparison_page, many_page


@pytest.fixture(scope="session")
def found() -> Comparison:
    """A risk shift, with all three questions and margins asked for."""
    return rdiv.compare(
        plain_table(150, seed=0), plain_table(120, seed=2, turned=0.4), target="bought",
        model="logistic", equivalence_margin=0.1, not_worse_than=0.1, rng=0,
    )  # fmt: skip


@pytest.fixture(scope="session")
def hostile() -> Comparison:
    """Hostile names and cells, and two thousand columns among the drivers."""
    one = rdiv.compare(
        table(140, 0), table(60, 1, turned=0.4), target="<b>bought</b>", model="logistic", folds=2,
        n_resamples=99, rng=0,
    )  # fmt: skip
    assert one.drivers is not None
    names = [*NAMES, *(f"column {i}" for i in range(2000 - len(NAMES)))]
    columns = tuple(ColumnDriver(n, 0.01, Interval(-0.1, 0.2), 0.1, 0.5) for n in names)
    return replace(one, drivers=replace(one.drivers, columns=columns))


@pytest.fixture(scope="session")
def dated() -> Comparison:
    """No shift, and a column that tells the files apart."""
    p, q = (
        plain_table(150, seed).with_columns(day=pl.Series([f"2024-0{month}-11"] * 150))
        for seed, month in ((0, 1), (1, 2))
    )
    return rdiv.compare(p, q, target="bought", model="logistic", n_resamples=99, rng=0)


@pytest.fixture(scope="session")
def partial() -> dict[str, Comparison]:
    """Comparisons of which parts were not asked or cannot be had."""
    p, q = plain_table(150, seed=0), plain_table(120, seed=2, turned=0.4)
    rng = np.random.default_rng(0)
    p_lost, q_lost = (
        one.with_columns(error=pl.Series(rng.exponential(size=len(one)))) for one in (p, q)
    )
    x, y = p.select("age", "visits").to_numpy(), p["bought"].to_numpy()
    given = Frozen(LogisticRegression().fit(x[:50], y[:50]), trained_on="neither")
    after = (q.select("age", "visits").to_numpy(), q["bought"].to_numpy())
    fast = {"n_resamples": 99, "rng": 0}
    return {
        "few rows": rdiv.compare(p.head(60), q, target="bought", model="logistic", **fast),
        "in-sample": rdiv.compare(p, q, target="bought", model="logistic", folds=None, **fast),
        "losses alone": rdiv.compare(
            p_lost.select("age", "error"), q_lost.select("age", "error"), loss="error", **fast
        ),
        "losses and target": rdiv.compare(
            p_lost, q_lost, loss="error", target="bought", retrain="logistic", **fast
        ),
        "given": rdiv.compare((x[50:], y[50:]), after, model=given, **fast),
        "given, not retrained": rdiv.compare(
            (x[50:], y[50:]), after, model=given, retrain=None, **fast
        ),
        "without gradients": _without_score(
            rdiv.compare(p, q, target="bought", model="logistic", drivers=False, **fast)
        ),
        "density": rdiv.compare(x, after[0], model="gmm", **fast),
    }


def _without_score(found: Comparison) -> Comparison:
    """As for a model without gradients."""
    asked = ("in-use", "r-div")
    return replace(
        found,
        results={name: found.results[name] for name in asked},
        adjusted_pvalues={name: found.adjusted_pvalues[name] for name in asked},
    )


@pytest.fixture(scope="session")
def many() -> Comparisons:
    """Three files, one of which shifted, and one that is too short."""
    files = {
        "jan.csv": plain_table(100, seed=1),
        "<script>feb</script>": plain_table(100, seed=2, turned=0.45),
        "march": plain_table(100, seed=3),
        "april": plain_table(7, seed=4),
    }
    return rdiv.compare_many(
        plain_table(150, seed=0), files, target="bought", model="logistic", folds=2, rng=0
    )


@pytest.fixture(scope="session")
def models() -> Comparisons:
    """One column spreads wider: the model that does not see it does worse, the other does not."""
    rng = np.random.default_rng(0)
    p, q = rng.normal(size=(300, 3)), rng.normal(size=(300, 3)) * [1.0, 1.0, 3.0]
    seen = {"first column": [0], "<script>all</script>": [0, 1, 2]}
    built = {name: _sees(columns) for name, columns in seen.items()}
    return rdiv.compare_models(
        (p, p.sum(axis=1) + rng.normal(size=300)), (q, q.sum(axis=1) + rng.normal(size=300)),
        built, task="regression", rng=0,
    )  # fmt: skip


def _sees(columns: list[int]) -> object:
    """A regression that gets some columns only."""
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    return make_pipeline(ColumnTransformer([("kept", "passthrough", columns)]), Ridge())


@pytest.fixture(scope="session")
def pages(
    found: Comparison,
    hostile: Comparison,
    dated: Comparison,
    many: Comparisons,
    models: Comparisons,
) -> dict[str, str]:
    """The page of each, by name."""
    return {
        "found": comparison_page(found),
        "hostile": comparison_page(hostile),
        "dated": comparison_page(dated),
        "many": many_page(many),
        "models": many_page(models),
    }
