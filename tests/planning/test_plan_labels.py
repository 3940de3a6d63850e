"""A plan for current rows without labels: fewer rows, for gaps that moved inputs make."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from tests.comparison.answers import Line, given

import rdiv
from rdiv.errors import InputError


def rows(n: int = 1200) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    return x, x[:, 0] + np.exp(0.5 * x[:, 1]) * rng.normal(size=n)


@pytest.mark.parametrize("model", ["ridge", given(Line())])
def test_unlabelled_rows_are_planned_by_the_spread_of_the_expected_loss(model: Any) -> None:
    found = rdiv.plan(rows(), model=model, gap=0.3, labels="none", rng=0)
    assert found.rows_p is not None
    assert found.notes["labels"] == "none"
    labelled = found.notes["with labels"]["rows_p"]
    assert found.rows_p < labelled
    assert found.variance_p is not None
    # Two equal samples of n rows find a gap d with 80 % probability for n about 2 (z s / d)^2; the
    # spread grows with the gap and the pilot is uncertain, so the plan is somewhat larger.
    z = norm.ppf(0.975) + norm.ppf(0.8)
    plain = 2 * (z / 0.3) ** 2 * found.variance_p
    assert plain <= found.rows_p <= 3 * plain
    assert "without labels" in found.headline()
    assert any(line.startswith("with labels") for line in found.details())


def test_a_plan_without_a_gap() -> None:
    found = rdiv.plan(rows(), model="ridge", labels="none", rng=0)
    assert found.n_p == 600
    assert "an expected gap" in found.headline()
    assert found.to_dict()["notes"]["with labels"]["rows_p"] is None


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"labels": "few"}, '"all" or "none"'),
        ({"labels": "none", "current": rows()}, "leave current out"),
        ({"labels": "none", "discrepancy": "energy"}, "leave it out"),
    ],
)
def test_what_is_refused(how: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        rdiv.plan(rows(), **how)
    with pytest.raises(InputError, match="needs the target"):
        rdiv.plan(rows()[0], labels="none")
    with pytest.raises(InputError, match="fewer than 50"):
        rdiv.plan(rows(80), model="ridge", labels="none")
