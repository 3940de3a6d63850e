"""compare where models are fitted to some rows: what is fitted, judged and said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

import rdiv
from rdiv.comparison.compare import admit
from rdiv.comparison.questions import ask
from rdiv.inference.engine import PermutationSettings
from rdiv.samples import Pool
from rdiv.samples.fitting_rows import folds_by_key, rows_to_fit, unit_keys

RNG = np.random.default_rng
SETTINGS = PermutationSettings(0.05, 99, 1)


@dataclass(frozen=True)
class Centre:
    """The mean of the rows it was fitted to, and how many they were."""

    seen: list[int]
    mean: Any = None

    def fit(self, pool: Pool, rng: np.random.Generator) -> Centre:
        self.seen.append(len(pool))
        return Centre(self.seen, pool.matrix().mean(axis=0))

    def losses(self, pool: Pool) -> np.ndarray:
        return np.square(pool.matrix() - self.mean).sum(axis=1)


def answers(p: Any, q: Any, model: Any, fit_rows: int | None, **how: Any) -> Any:
    given: dict[str, Any] = {
        "target": None, "prediction": None, "loss": None, "retrain": "same", "drop": (),
        "task": None, "folds": 5, "groups": None, "strata": None, "rng": 0, "n_jobs": None, **how,
    }  # fmt: skip
    admitted = admit(p, q, model=model, fit_rows=fit_rows, **given)
    return ask(admitted.models, admitted.pooled, SETTINGS, train_share=0.5), admitted.pooled


def test_no_fit_sees_more_rows_and_all_rows_are_judged() -> None:
    seen: list[int] = []
    x = RNG(0).normal(size=(900, 2))
    found, pooled = answers(x[:600], x[600:], Centre(seen), 200)
    assert max(seen) <= 200
    assert len(found.shared.losses) == 900
    assert len(found.in_use.losses) == 600  # half of the reference trains
    assert seen[0] == 200  # of 300 rows of part A
    assert all(120 < rows < 200 for rows in seen[1:6])  # four folds of five
    assert len(pooled.pool) == 900


def test_losses_are_those_of_the_fold_that_the_key_names() -> None:
    x = RNG(1).normal(size=(500, 2))
    found, pooled = answers(x[:250], x[250:], Centre([]), 150)
    keys, numbers = pooled.pool.keys[:, 0], pooled.pool.matrix()
    rows, fold = rows_to_fit(keys, 150), folds_by_key(keys, 5)
    slow = np.empty(500)
    for i in range(500):
        others = rows[fold[rows] != fold[i]]
        slow[i] = np.square(numbers[i] - numbers[others].mean(axis=0)).sum()
    np.testing.assert_allclose(found.shared.losses, slow, rtol=1e-12)


def test_groups_stay_whole() -> None:
    x, groups = RNG(2).normal(size=(600, 2)), np.arange(600) // 4
    how = {"groups": (groups[:300], groups[300:])}
    found, pooled = answers(x[:300], x[300:], Centre([]), 200, **how)
    pool = pooled.pool
    fold = folds_by_key(unit_keys(pool.keys[:, 0], pool.groups), 5)
    rows = rows_to_fit(pool.keys[:, 0], 200)
    i = 17
    others = rows[fold[rows] != fold[i]]
    assert pool.groups is not None
    assert not np.isin(pool.groups[others], pool.groups[i]).any()
    expected = np.square(pool.matrix()[i] - pool.matrix()[others].mean(axis=0)).sum()
    assert found.shared.losses[i] == pytest.approx(expected, rel=1e-12)


def test_the_limit_changes_nothing_where_there_are_fewer_rows() -> None:
    x = RNG(3).normal(size=(300, 3))
    y = x[:, 0] + RNG(4).normal(size=300)
    pair = (x[:150], y[:150]), (x[150:], y[150:])
    how: dict[str, Any] = {"model": "ridge", "rng": 0, "n_resamples": 99, "drivers": False}
    whole = rdiv.compare(*pair, **how).to_json()
    assert rdiv.compare(*pair, **how, fit_rows=300).to_json() == whole


def test_moving_rows_between_the_samples_changes_no_shared_loss() -> None:
    rng = RNG(5)
    frame = pl.DataFrame(
        {"a": rng.normal(size=400), "b": rng.choice(list("abcd"), 400), "y": rng.normal(size=400)}
    )
    first = None
    for seed in range(3):
        order = RNG(seed).permutation(400)
        p, q = frame[order[:180]], frame[order[180:]]
        found, pooled = answers(p, q, "boosting", 150, target="y")
        evidence = [found.shared.losses.tobytes(), pooled.pool.matrix().tobytes()]
        first = first or evidence
        assert evidence == first


def test_it_is_said_in_the_notes() -> None:
    x = RNG(6).normal(size=(600, 2))
    how: dict[str, Any] = {"model": "gmm", "rng": 0, "n_resamples": 99, "drivers": False}
    found = rdiv.compare(x[:400], x[400:], fit_rows=150, **how)
    assert found.notes["fit rows"] == (
        "the shared model was fitted to 150 of 600 rows and the model in use was fitted to 150 of "
        "200 rows; all rows were judged"
    )
    assert "trained on 150 of 200 reference rows" in str(found)
    whole = rdiv.compare(x[:400], x[400:], **how)
    assert "fit rows" not in whole.notes
    assert "trained on 200 reference rows" in str(whole)


def test_a_sample_of_rows_for_score_inputs_and_drivers() -> None:
    rng = RNG(10)
    x = rng.normal(size=(600, 3))
    y = x[:, 0] * np.where(np.arange(600) < 300, 1.0, -1.0) + rng.normal(size=600)
    pair = (x[:300], y[:300]), (x[300:], y[300:])
    how: dict[str, Any] = {"model": "ridge", "rng": 0, "n_resamples": 99}
    whole, some = rdiv.compare(*pair, **how), rdiv.compare(*pair, **how, sample_rows=200)
    assert some.notes["sample rows"] == "score, inputs and drivers looked at 200 of 600 rows"
    for name in ("in-use", "r-div"):
        assert some.results[name].to_json() == whole.results[name].to_json()
    assert some.gap == whole.gap
    assert some.results["score"].pvalue == 0.01
    assert some.results["score"].statistic != whole.results["score"].statistic
    assert some.drivers is not None
    assert rdiv.compare(*pair, **how, sample_rows=600).to_json() == whole.to_json()


@pytest.mark.parametrize("model", ["ridge", "gmm"])
def test_a_sample_has_the_gradients_that_its_rows_have_among_all(model: str) -> None:
    x = RNG(12).normal(size=(300, 2))
    pair: Any = (x[:150], x[150:])
    if model == "ridge":
        y = x[:, 0] + RNG(13).normal(size=300)
        pair = ((x[:150], y[:150]), (x[150:], y[150:]))
    whole, pooled = answers(*pair, model, None)
    looked = pooled.looked_at(120)
    rows = looked.rows
    how: dict[str, Any] = {
        "target": None, "prediction": None, "loss": None, "retrain": "same", "drop": (),
        "task": None, "folds": 5, "groups": None, "strata": None, "rng": 0, "n_jobs": None,
    }  # fmt: skip
    models = admit(*pair, model=model, **how).models
    some = ask(models, pooled, SETTINGS, train_share=0.5, looked=looked)
    assert some.score is not None
    if model == "gmm":  # its gradients do not depend on the other rows
        np.testing.assert_array_equal(some.score.gradients, whole.score.gradients[rows])
    else:  # inputs are standardised over the rows that are looked at
        ratio = some.score.gradients[:, 0] / whole.score.gradients[rows][:, 0]
        np.testing.assert_allclose(ratio, 1.0)
    assert some.shared is not None
    part = some.shared.within(looked)
    np.testing.assert_array_equal(part.losses, whole.shared.losses[rows])
    assert some.in_use is not None
    used = some.in_use.within(looked)
    np.testing.assert_array_equal(used.samples.pool.keys, pooled.pool.keys[rows][used.rows])


def test_in_sample_losses_have_the_limit_too() -> None:
    seen: list[int] = []
    x = RNG(7).normal(size=(500, 2))
    found, _ = answers(x[:250], x[250:], Centre(seen), 120, folds=None)
    assert set(seen) == {120}
    assert len(found.shared.losses) == 500


@pytest.mark.parametrize("folds", [None, 5])
def test_a_model_may_say_less(folds: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rdiv.models.KernelDensity.fit_rows", 60)
    x = RNG(8).normal(size=(300, 2))
    found, _ = answers(x[:150], x[150:], "kde", 10**6, folds=folds)
    fitted = found.in_use.fitted.fitted
    assert fitted.counts.sum() == 60
    assert len(found.shared.losses) == 300


@pytest.mark.parametrize("given", [99, -1, 2.5, "many", True, None])
def test_bad_limits_are_refused(given: Any) -> None:
    x = RNG(9).normal(size=(60, 2))
    with pytest.raises((ValueError, TypeError), match="fit_rows must be a whole number"):
        rdiv.compare(x[:30], x[30:], fit_rows=given)


def test_false_alarms_stay_at_the_level() -> None:
    """200 nulls with copies in them; both questions of a ridge model fitted to a quarter."""
    rejected = {"in-use": 0, "r-div": 0}
    for seed in range(200):
        rng = RNG([11, seed])
        x = rng.integers(0, 6, size=(420, 2)).astype(float)
        y = x[:, 0] + rng.exponential(size=420)
        y[::3] = y[1::3]
        found, _ = answers((x[:260], y[:260]), (x[260:], y[260:]), "ridge", 100)
        for name in rejected:
            rejected[name] += found.results[name].pvalue <= 0.05
    for count in rejected.values():
        assert binomtest(count, 200, 0.05, alternative="greater").pvalue > 1e-3
