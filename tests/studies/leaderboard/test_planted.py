"""Planted changes: what each one does to q, and a null that is one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from rdiv.errors import InputError
from rdiv.studies.leaderboard import planted
from rdiv.studies.leaderboard.planted import CHANGES, Planted
from rdiv.studies.leaderboard.tables import TABLES, Table, read_table

ROWS = 4000


@lru_cache(maxsize=1)
def toy(_folder: Any) -> pl.DataFrame:
    """A table whose rows can be told apart: half of them of another kind."""
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "kind": np.arange(ROWS) % 2,
            "id": np.arange(ROWS),
            "number": rng.normal(size=ROWS),
            "second": rng.normal(size=ROWS),
            "shuffled": rng.normal(size=ROWS),
            "target": np.where(rng.random(ROWS) < 0.5, "1", "0"),
            "amount": rng.random(ROWS) + 1,
            "text": ["a"] * ROWS,
        }
    )


@pytest.fixture(autouse=True)
def tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def first(kind: np.ndarray) -> np.ndarray:
        return kind == 0

    table = Table(toy, "kind", first, "number", "second", "shuffled", "target", "text")
    monkeypatch.setitem(TABLES, "toy", table)
    numbers = Table(toy, "kind", first, "number", "second", "shuffled", "amount", "text")
    monkeypatch.setitem(TABLES, "numbers", numbers)
    yield
    read_table.cache_clear()


def drawn(
    change: str, amount: float, n: int = 400, seed: int = 0, **options: Any
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """P, q, and the rows of the table that q was made of."""
    table = options.pop("table", "toy")
    null = options.pop("null", False)
    p, q = Planted(table, change, amount, **options).draw(n, np.random.default_rng(seed), null)
    return p, q, toy(None)[q["id"].to_numpy()]


def changed(q: pl.DataFrame, before: pl.DataFrame) -> set[str]:
    return {name for name in q.columns if not q[name].equals(before[name])}


def near(share: float, expected: float, n: int) -> bool:
    """Within four standard errors of a share."""
    return abs(share - expected) <= 4 * (expected * (1 - expected) / n) ** 0.5 + 1e-9


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("null", [False, True])
def test_all_rows_of_a_draw_are_different(change: str, null: bool) -> None:
    p, q, _ = drawn(change, 0.5, n=100, ratio=0.5, null=null)
    ids = [*p["id"], *q["id"]]
    assert (len(p), len(q)) == (100, 50)
    assert len(set(ids)) == len(ids)
    assert "kind" not in p.columns
    assert p.columns == q.columns


@pytest.mark.parametrize("change", CHANGES)
def test_under_the_null_nothing_is_changed(change: str) -> None:
    p, q, before = drawn(change, 0.5, null=True)
    assert changed(q, before) == set()
    assert changed(p, toy(None)[p["id"].to_numpy()]) == set()
    kinds = toy(None)["kind"].to_numpy()
    assert set(kinds[q["id"].to_numpy()]) == set(kinds[p["id"].to_numpy()]) == {0}


def inclusions(change: str, null: bool) -> np.ndarray:
    """How often each row of the first kind is in q minus how often it is in p, in deviations."""
    counts, draws, n = np.zeros(ROWS), 300, 500
    for seed in range(draws):
        p, q, _ = drawn(change, 1.0, n=n, seed=seed, null=null)
        np.add.at(counts, q["id"].to_numpy(), 1)
        np.add.at(counts, p["id"].to_numpy(), -1)
    return counts[::2] / (draws * 2 * n / (ROWS / 2)) ** 0.5


def test_under_the_null_every_row_is_as_likely_in_p_as_in_q() -> None:
    exact = inclusions("lost", null=True)
    assert np.abs(exact).max() < 5  # 2000 rows: the largest of as many normals is below 4.6
    broken = inclusions("lost", null=False)
    assert np.abs(broken).max() > 5


def test_a_share_of_the_rows_comes_from_another_source() -> None:
    p, q, before = drawn("source", 0.3)
    assert near(before["kind"].mean(), 0.3, len(q))
    assert toy(None)["kind"].to_numpy()[p["id"].to_numpy()].sum() == 0
    assert changed(q, before) == set()


def test_rows_with_large_numbers_are_more_likely() -> None:
    means = [drawn("covariate", amount)[1]["number"].mean() for amount in (0.0, 0.3, 0.9)]
    assert abs(means[0]) < 4 / 20
    assert means[0] + 0.1 < means[1] < means[2] - 0.1


def test_rows_of_the_top_fifth_are_lost() -> None:
    whole = toy(None).filter(pl.col("kind") == 0)["number"]
    top = float(whole.quantile(0.8) or 0)
    _, q, _ = drawn("lost", 1.0)
    assert (q["number"] > top + 0.05).sum() == 0
    _, q, _ = drawn("lost", 0.5)
    assert near((q["number"] > top).mean(), 0.1 / 0.9, len(q))


def test_a_share_of_the_rows_comes_from_the_top_twentieth() -> None:
    whole = toy(None).filter(pl.col("kind") == 0)["number"]
    p, q, before = drawn("rare", 0.15)
    high = float(whole.quantile(0.95) or 0)
    assert near((q["number"] >= high - 0.02).mean(), 0.15, len(q))
    assert near((p["number"] >= high).mean(), 0.05, len(p))
    assert changed(q, before) == set()


def test_the_target_is_inverted_above_the_median_of_a_column() -> None:
    _, q, before = drawn("concept", 0.7)
    above = (before["number"] > toy(None)["number"].median()).to_numpy()
    turned = (q["target"] != before["target"]).to_numpy()
    assert changed(q, before) == {"target"}
    assert not turned[~above].any()
    assert near(turned[above].mean(), 0.7, int(above.sum()))


def test_a_target_of_numbers_grows_above_the_median() -> None:
    _, q, before = drawn("concept", 0.6, table="numbers")
    above = (before["number"] > toy(None)["number"].median()).to_numpy()
    grown = (q["amount"] / before["amount"]).to_numpy()
    np.testing.assert_allclose(grown, np.where(above, 1.6, 1.0))


def test_noise_has_the_spread_that_it_says() -> None:
    _, q, before = drawn("noise", 0.5, n=1000)
    assert changed(q, before) == {"number", "second"}
    for name in ("number", "second"):
        spread = (q[name] - before[name]).to_numpy() / toy(None)[name].to_numpy().std()
        assert abs(spread.std() - 0.5) < 4 * 0.5 / (2 * len(q)) ** 0.5
        assert abs(spread.mean()) < 4 * 0.5 / len(q) ** 0.5


@pytest.mark.parametrize(("change", "column"), [("missing", "second"), ("category", "text")])
def test_a_share_of_one_column_is_missing_or_new(change: str, column: str) -> None:
    _, q, before = drawn(change, 0.2)
    hit = q[column].is_null() if change == "missing" else q[column] == "new"
    assert near(hit.mean(), 0.2, len(q))
    assert changed(q, before) == {column}


def test_a_share_of_one_column_is_handed_to_other_rows() -> None:
    _, q, before = drawn("column", 0.5)
    assert changed(q, before) == {"shuffled"}
    assert sorted(q["shuffled"]) == sorted(before["shuffled"])
    assert near((q["shuffled"] != before["shuffled"]).mean(), 0.5, len(q))


def test_whole_numbers_stay_whole() -> None:
    _, q = Planted("digits", "noise", 0.5).draw(50, np.random.default_rng(0))
    assert (q["pixel 20"] == q["pixel 20"].round()).all()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (("digit", "noise", 1.0), "did you mean 'digits'"),
        (("digits", "nosie", 1.0), "did you mean 'noise'"),
        (("digits", "category", 1.0), "no text column"),
    ],
)
def test_what_cannot_be_planted_is_refused(wrong: tuple[str, str, float], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Planted(*wrong)


def test_too_many_rows_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="2000 rows, got a draw of 1500"):
        Planted("toy", "noise", 1.0).draw(1500, rng)
    with pytest.raises(InputError, match="too few rows for rare"):
        Planted("toy", "rare", 1.0).draw(900, rng)


@pytest.mark.parametrize("name", ["census", "bikes", "higgs"])
def test_the_real_tables_have_their_columns(name: str, data_dir: Any) -> None:
    table, rows = TABLES[name], read_table(name, data_dir)
    named = {table.kind, table.number, table.second, table.shuffled, table.target}
    assert named <= {*rows.columns}
    assert not table.text or rows[table.text].dtype == pl.String
    first = table.first(rows[table.kind].to_numpy())
    assert 2000 < first.sum() < len(rows) - 2000
    assert planted.read_table(name, data_dir) is rows
