"""Why: the split that compare reports, its notes where there is none, and no effect on tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from tests.comparison.answers import Line, given
from tests.comparison.conftest import run

import rdiv
from rdiv.comparison import split as splitting
from rdiv.comparison.density_ratio import DensityRatio
from rdiv.comparison.why import explain


def frames(n: int = 400, seed: int = 0, *, shift: float = 0.8) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The noise grows with `b`, which moved; a model's predictions and losses are logged."""
    rng = np.random.default_rng(seed)
    found = []
    for moved in (0.0, shift):
        a, b, noise = rng.normal(size=(3, n))
        b = b + moved
        y = a + np.exp(b / 2) * noise
        columns = {"a": a, "b": b, "y": y, "said": a, "error": (y - a) ** 2}
        found.append(pl.DataFrame(columns))
    return found[0], found[1]


MODELS: dict[str, dict[str, Any]] = {
    "trained": {"model": "ridge", "drop": ["said", "error"]},
    "prediction": {"prediction": "said", "retrain": None, "drop": ["error"]},
    "loss": {"loss": "error", "retrain": None, "drop": ["said"]},
}


def said(frame: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    return frame.select("a", "b").to_numpy(), frame["y"].to_numpy()


@pytest.mark.parametrize("how", MODELS.values(), ids=MODELS)
def test_every_kind_of_model_in_use(how: dict[str, Any]) -> None:
    found = run(*frames(), target="y", **how)
    assert found.split is not None
    assert found.split.inputs.value + found.split.relation.value == pytest.approx(
        found.gap, abs=1e-12
    )
    columns = found.drivers.columns
    assert columns.groups[0].members == ("b",)
    total = sum(group.contribution for group in columns.groups) + columns.correction
    assert total == pytest.approx(found.split.inputs.value, abs=1e-12)
    assert columns.total == found.split.inputs.value
    document = found.to_dict()["split"]
    assert document["inputs"]["value"] == found.split.inputs.value
    assert "explained by the inputs that moved" in str(found)


def test_a_frozen_model_is_split_as_its_predictions_are() -> None:
    reference, current = frames()
    frozen = run(said(reference), said(current), model=given(Line()), retrain=None)
    logged = run(reference, current, target="y", **MODELS["prediction"])
    assert frozen.split is not None
    assert logged.split is not None
    assert frozen.gap == pytest.approx(logged.gap)
    # streams come from the content, so folds differ; what is estimated does not
    assert abs(frozen.split.inputs.value - logged.split.inputs.value) < (
        frozen.split.inputs.high - frozen.split.inputs.low
    )


@pytest.mark.parametrize("how", MODELS.values(), ids=MODELS)
def test_no_pvalue_depends_on_it(how: dict[str, Any]) -> None:
    """No exact test uses the expected loss or the weights."""
    with_why = run(*frames(200), target="y", **how)
    without = run(*frames(200), target="y", drivers=False, **how)
    assert without.split is None
    assert with_why.verdict == without.verdict
    assert with_why.pvalue == without.pvalue
    assert with_why.adjusted_pvalues == without.adjusted_pvalues
    for name, result in without.results.items():
        assert with_why.results[name].pvalue == result.pvalue
        np.testing.assert_array_equal(
            with_why.results[name].null_distribution, result.null_distribution
        )
    assert with_why.gap_interval == without.gap_interval


def test_slices_and_weights_do_not_depend_on_the_density_ratio(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nonsense for weights changes the split and no p-value of a driver."""
    found = run(*frames(), target="y", **MODELS["trained"])

    def other(features: np.ndarray, is_p: np.ndarray, *_: Any) -> DensityRatio:
        weights = np.random.default_rng(0).exponential(size=int(is_p.sum()))
        return DensityRatio(weights / weights.mean(), 100.0, 1.0)

    monkeypatch.setattr(splitting, "density_ratio", other)
    again = run(*frames(), target="y", **MODELS["trained"])
    assert again.split != found.split
    assert again.drivers.slices == found.drivers.slices
    assert [replace(one, weighted=None) for one in again.drivers.relation_slices] == [
        replace(one, weighted=None) for one in found.drivers.relation_slices
    ]
    assert again.drivers.weights == found.drivers.weights
    assert str(again.input_columns) == str(found.input_columns)


class TestNoSplit:
    def test_no_overlap(self) -> None:
        reference, current = frames()
        days = [pl.Series(range(start, start + 400)) for start in (0, 400)]
        found = run(
            reference.with_columns(day=days[0]), current.with_columns(day=days[1]), target="y",
            **MODELS["prediction"],
        )  # fmt: skip
        assert found.split is None
        assert found.notes["split"].startswith("no overlap: ")
        assert "why: no overlap: " in str(found)
        assert found.drivers.columns is None
        assert not found.drivers.confirmed_relation_slices()
        assert found.to_dict()["split"] is None

    def test_strata(self) -> None:
        stratum = np.arange(400) % 4
        found = run(*frames(), target="y", strata=(stratum, stratum), **MODELS["prediction"])
        assert found.split is None
        assert "with strata= the gap" in found.notes["split"]

    def test_images(self) -> None:
        rng = np.random.default_rng(0)
        images, y = rng.random(size=(240, 1, 4, 4)), rng.integers(2, size=240)
        found = run((images[:120], y[:120]), (images[120:], y[120:]), model="logistic")
        assert found.split is None
        assert "no table" in found.notes["split"]

    def test_density(self) -> None:
        """Without a target there is no relation; columns explain all of the gap."""
        rng = np.random.default_rng(0)
        x = rng.normal(size=(600, 2))
        x[300:, 1] *= 2
        found = run(x[:300], x[300:], model="gmm")
        assert found.split is None
        assert "without a target" in found.notes["split"]
        columns = found.drivers.columns
        assert columns.groups[0].members == ("column 1",)
        assert columns.total == pytest.approx(found.gap)

    def test_too_few_rows(self) -> None:
        reference, current = frames(200)
        found = run(reference[:40], current, target="y", **MODELS["prediction"])
        assert found.split is None
        assert "fewer than 50 reference rows" in found.notes["split"]

    def test_no_model_in_use(self) -> None:
        found = run(*frames(200), target="y", train_share=0.1, **MODELS["trained"])
        assert found.gap is None
        assert "no model in use was measured" in found.notes["split"]
        assert explain(None, 0.05).note == found.notes["split"]

    def test_missing_numbers_of_an_array(self) -> None:
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(300, 2)), rng.normal(size=300)
        x[::7, 1] = np.nan
        booster = HistGradientBoostingRegressor(max_iter=5).fit(x[:100], y[:100])
        sides = (x[100:200], y[100:200]), (x[200:], y[200:])
        found = run(*sides, model=given(booster), retrain=None)
        assert found.split is None
        assert "not all finite" in found.notes["split"]


def test_the_same_for_any_order_of_rows() -> None:
    reference, current = frames(300)
    one = run(reference, current, target="y", **MODELS["trained"])
    other = run(reference.reverse(), current.reverse(), target="y", **MODELS["trained"])
    assert one.split == other.split


def test_rows_made_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Features of too many rows are not held, and the reasons stay the same."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(900, 3))
    frame = pl.DataFrame(dict(zip("abc", x.T, strict=True)))
    frame = frame.with_columns(y=pl.Series(x[:, 0] + rng.normal(size=900) * np.exp(x[:, 1] / 2)))
    how: dict[str, Any] = {"target": "y", "model": "ridge", "rng": 0, "n_resamples": 99}
    held = rdiv.compare(frame[:500], frame[500:], **how)
    monkeypatch.setattr("rdiv.comparison.expected.MOST_HELD", 0)
    monkeypatch.setattr("rdiv.comparison.expected._BLOCK", 70)
    monkeypatch.setattr("rdiv.comparison.density_ratio._BLOCK", 70)
    made = rdiv.compare(frame[:500], frame[500:], **how)
    assert held.split is not None
    assert made.split is not None
    for part in ("inputs", "relation"):
        one, other = getattr(held.split, part), getattr(made.split, part)
        np.testing.assert_allclose(list(one), list(other), rtol=1e-6, atol=1e-9)
    names = [[group.members for group in each.drivers.columns.groups] for each in (held, made)]
    assert names[0] == names[1]
