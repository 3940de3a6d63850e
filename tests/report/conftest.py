"""Comparisons to put on pages: whole and partial ones, hostile names, many at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from tests.cli.conftest import table as plain_table
from tests.report.hostile import NAMES, SCRIPT, table

import rdiv
from rdiv import Comparison, Comparisons
from rdiv.comparison.split import Split
from rdiv.drivers.contributions import ColumnGroup, Contributions
from rdiv.drivers.moved_column import Distribution, MovedColumn
from rdiv.drivers.result import SliceDriver, WeightDriver
from rdiv.inference.intervals import Estimate, Interval
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
    groups = [ColumnGroup((n,), 0.01, Interval(0.001, 0.02), 0.01) for n in names[20:]]
    groups.append(ColumnGroup(tuple(names[:20]), -0.2, Interval(-0.3, -0.1), -0.2))
    groups.sort(key=lambda group: -abs(group.contribution))
    added = sum(group.contribution for group in groups)
    columns = Contributions(tuple(groups), 0.5, added + 0.5)
    parts = tuple(
        SliceDriver((f"{name} = {SCRIPT}",), 0.5, 0.1, None, 0.2, 0.2, 30, 30, 0.01)
        for name in NAMES
    )
    weights = tuple(WeightDriver(name, 3.1, 0.01) for name in names)
    drivers = replace(one.drivers, columns=columns, relation_slices=parts, weights=weights)
    split = Split(Estimate(columns.total, 1.0, 40.0), Estimate(-1.0, -2.0, 0.5), 60.0)
    return replace(one, drivers=drivers, split=split, input_columns=tuple(_moved(names)))


def _moved(names: list[str]) -> list[MovedColumn]:
    """Columns that moved, with hostile levels; first one with a flag."""
    levels = tuple(name[:200] for name in NAMES)
    shares = (1 / len(levels),) * len(levels)
    shown = Distribution(levels, (), shares, shares)
    rows = {"rows_reference": 140, "rows_current": 60}
    flagged = MovedColumn(
        names[1], "text", 0.01, "level", flag="new levels", example=SCRIPT, new_rows=7,
        distribution=shown, **rows,
    )  # fmt: skip
    return [
        flagged,
        *(
            MovedColumn(
                name, "text", 0.01, "level", level=name, share_reference=0.1, share_current=0.4,
                distribution=shown, **rows,
            )
            for name in names
        ),
    ]  # fmt: skip


@pytest.fixture(scope="session")
def moved() -> Comparison:
    """Inputs and relation both changed, a level is new, a column constant, cells are missing."""
    rng = np.random.default_rng(0)

    def rows(n: int, *, later: bool) -> pl.DataFrame:
        age = rng.normal(50 if later else 40, 10, size=n)
        noise = rng.normal(size=n) * np.where(age > 45, age / 15, 1.0)
        if later:
            noise = np.where(age < 40, noise + 4, noise)
        towns = ["north", "south", "west"] if later else ["north", "south"]
        return pl.DataFrame(
            {
                "age": age,
                "pension": age + rng.normal(size=n),
                "town": rng.choice(towns, size=n),
                "kind": ["a"] * n if later else rng.choice(["a", "b"], size=n),
                "income": [None if later and i % 5 == 0 else float(i % 50) for i in range(n)],
                "other": rng.normal(size=n),
                "spent": 0.2 * age + noise,
            }
        )

    return rdiv.compare(
        rows(1200, later=False), rows(600, later=True), target="spent", model="ridge", rng=0
    )


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
    moved: Comparison,
    many: Comparisons,
    models: Comparisons,
) -> dict[str, str]:
    """The page of each, by name."""
    return {
        "found": comparison_page(found),
        "hostile": comparison_page(hostile),
        "dated": comparison_page(dated),
        "moved": comparison_page(moved),
        "many": many_page(many),
        "models": many_page(models),
    }
