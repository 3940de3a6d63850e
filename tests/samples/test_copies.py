"""Rows in both samples, counted and compared by all that a row holds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from rdiv.samples import pool_samples
from rdiv.samples.copies import identical, rows_in_both

few = st.lists(st.integers(0, 3), min_size=2, max_size=8)


@given(few, few)
def test_counts_agree_with_plain_python(p: list[int], q: list[int]) -> None:
    pooled = pool_samples(np.array(p), np.array(q), rng=0)
    assert rows_in_both(pooled) == sum(value in p for value in q)
    assert identical(pooled) == (Counter(p) == Counter(q))


@given(st.permutations([0, 0, 1, 2, 2, 2]))
def test_order_does_not_matter(q: list[int]) -> None:
    assert identical(pool_samples(np.array([0, 0, 1, 2, 2, 2]), np.array(q), rng=0))


def test_the_target_belongs_to_a_row() -> None:
    p = pl.DataFrame({"a": [1, 2, 3, 4], "y": [0, 1, 0, 1]})
    q = p.with_columns(y=pl.Series([0, 1, 1, 0]))
    assert rows_in_both(pool_samples(p, q, target="y", rng=0)) == 2
    assert rows_in_both(pool_samples(p.drop("y"), q.drop("y"), rng=0)) == 4
    assert not identical(pool_samples(p, q, target="y", rng=0))
    assert identical(pool_samples(p.drop("y"), q.drop("y"), rng=0))
