"""Rows of current that are least like the reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import rdiv
from rdiv.drivers import unusual, unusual_rows
from rdiv.inference.engine import PermutationSettings
from rdiv.samples import pool_samples

RNG = np.random.default_rng


def table(n: int, seed: int) -> pl.DataFrame:
    rng = RNG(seed)
    return pl.DataFrame({"age": rng.normal(40, 9, n), "region": rng.choice(["n", "s", "w"], n)})


def found_in(p: object, q: object) -> tuple[tuple[rdiv.drivers.UnusualRow, ...], str | None]:
    return unusual_rows(pool_samples(p, q, rng=0), PermutationSettings())


def test_far_values_unknown_levels_and_missing_cells_are_named() -> None:
    p, q = table(300, 0), table(80, 1)
    region, age = q["region"].to_list(), q["age"].to_list()
    region[5], age[9], age[11] = "moon", 900.0, None
    rows, note = found_in(p, q.with_columns(region=pl.Series(region), age=pl.Series(age)))
    assert {(row.index, row.column) for row in rows} >= {(5, "region"), (9, "age"), (11, "age")}
    assert next(row for row in rows if row.index == 5).cells["region"] == "moon"
    assert all(row.as_far <= 0.01 for row in rows)
    assert "of 80 current rows are farther from the reference than 99 %" in note


def test_the_distance_by_hand() -> None:
    x = RNG(0).normal(size=(40, 1))
    x[39] = 50.0
    rows, _ = found_in(x[:30], x[30:])
    low, middle, high = np.quantile(x[:30, 0], [0.25, 0.5, 0.75])
    z = np.arcsinh((x[:, 0] - middle) / ((high - low) / 1.35))
    own = [np.sort(np.abs(np.delete(z[:30], i) - z[i]))[2] for i in range(30)]
    far = np.sort(np.abs(z[:30] - z[39]))[2]
    assert rows[0].index == 9
    assert rows[0].as_far == np.mean(np.array(own) >= far) == 0


def test_rows_are_named_rarely_when_nothing_changed() -> None:
    """At level .05; what counts is that the check is not much too generous."""
    draws = 150
    named = sum(bool(found_in(table(120, 2 * k), table(60, 2 * k + 1))[0]) for k in range(draws))
    assert named <= binom.ppf(0.999, draws, 0.05)


def test_a_part_of_large_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unusual, "MOST_ROWS", 50)
    _, note = found_in(table(300, 0), table(80, 1))
    assert note.endswith("of 50 reference and 50 current rows drawn at random")


def test_it_is_part_of_a_comparison_and_rows_can_be_left_out(tmp_path: Path) -> None:
    q = table(80, 1).with_columns(age=pl.when(pl.int_range(80) < 4).then(900.0).otherwise("age"))
    found = rdiv.compare(table(200, 0), q, model="gmm", n_resamples=99, rng=0)
    assert {row.index for row in found.drivers.unusual} >= {0, 1, 2, 3}
    assert "rows of current unlike the reference: " in str(found)
    document = found.to_dict()["drivers"]
    assert document["unusual"][0]["column"] == "age"
    assert found.drivers.without_rows().unusual == ()
    page = tmp_path / "page.html"
    found.to_html(page)
    assert "Rows unlike the reference" in page.read_text()


def test_images_and_few_rows_have_none() -> None:
    assert found_in(np.zeros((5, 1, 4, 4)), np.zeros((5, 1, 4, 4))) == ((), None)
    assert found_in(np.zeros((3, 1)), np.ones((3, 1))) == ((), None)
