"""How a user's own code looks to a strict type checker; mypy reads this file, nothing runs it."""

from __future__ import annotations

from typing import assert_type

import numpy as np
import polars as pl

import rdiv


def gate(reference: pl.DataFrame, current: pl.DataFrame) -> bool:
    """A pipeline's check."""
    found = rdiv.compare(reference, current, target="churned", drop=["date"], rng=0)
    assert_type(found, rdiv.Comparison)
    word: str = found.verdict
    assert_type(found.gap, float | None)
    if found.gap_interval is not None:
        assert_type(found.gap_interval.low, float)
    found.to_html("report.html")
    return word == "no shift"


def power(x: np.ndarray, y: np.ndarray) -> float:
    """A researcher's check."""
    result = rdiv.two_sample_test(x, y, "score", model="gmm", rng=0)
    assert_type(result, rdiv.TwoSampleResult)
    assert_type(result.pvalue, float)
    return result.pvalue


def levels(reference: pl.DataFrame, days: dict[str, pl.DataFrame]) -> list[str]:
    """Many days at once."""
    found = rdiv.compare_many(reference, days, target="churned", rng=0)
    assert_type(found, rdiv.Comparisons)
    return [level.name for level in found.levels]
