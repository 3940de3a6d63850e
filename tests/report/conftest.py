"""Comparisons to put on pages: a plain one, a hostile one, many at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.cli.conftest import table as plain_table
from tests.report.hostile import NAMES, table

import rdiv
from rdiv import Comparison, Comparisons
from rdiv.drivers.result import ColumnDriver
from rdiv.inference.intervals import Interval
from rdiv.report import comparison_page, many_page


@pytest.fixture(scope="session")
def found() -> Comparison:
    """A risk shift, with a margin asked for."""
    return rdiv.compare(
        plain_table(150, seed=0), plain_table(120, seed=2, turned=0.4), target="bought",
        model="logistic", equivalence_margin=0.1, not_worse_than=0.1, rng=0,
    )  # fmt: skip


@pytest.fixture(scope="session")
def hostile() -> Comparison:
    """Hostile names and cells, and two thousand columns among the drivers."""
    one = rdiv.compare(
        table(80, 0), table(60, 1, turned=0.4), target="<b>bought</b>", model="logistic", folds=2,
        n_resamples=99, rng=0,
    )  # fmt: skip
    assert one.drivers is not None
    names = [*NAMES, *(f"column {i}" for i in range(2000 - len(NAMES)))]
    columns = tuple(ColumnDriver(n, 0.01, Interval(-0.1, 0.2), 0.1, 0.5) for n in names)
    return replace(one, drivers=replace(one.drivers, columns=columns))


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
def pages(found: Comparison, hostile: Comparison, many: Comparisons) -> dict[str, str]:
    """The page of each, by name."""
    return {
        "found": comparison_page(found),
        "hostile": comparison_page(hostile),
        "many": many_page(many),
    }
