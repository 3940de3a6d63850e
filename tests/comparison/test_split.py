"""The split: its two parts by the formula, unbiased and covered, and none without overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, kurtosis
from scipy.stats import t as student
from tests.comparison.answers import Chances, Line, answered, expecting, given, with_losses

from rdiv.comparison import split as splitting
from rdiv.comparison.density_ratio import DensityRatio
from rdiv.comparison.expected import expected_loss
from rdiv.comparison.questions import Answer
from rdiv.comparison.split import Split, residual_variance, split_gap

Floats = NDArray[np.float64]
SHIFT = 0.6


def with_weights(monkeypatch: pytest.MonkeyPatch, weigh: Any) -> None:
    """Take these weights, a function of the inputs, for the density ratio."""

    def known(features: Floats, is_p: NDArray[np.bool_], *_: Any) -> DensityRatio:
        return DensityRatio(weigh(features[is_p]), float(is_p.sum()), 1.0)

    monkeypatch.setattr(splitting, "density_ratio", known)


def moved(n: int, seed: int, **how: Any) -> tuple[Answer, Floats]:
    """Rows whose first input moved, of a model that is given, and their inputs."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2 * n, 2))
    x[n:, 0] += SHIFT
    y = x[:, 0] + rng.normal(size=2 * n)
    answer = answered((x[:n], y[:n]), (x[n:], y[n:]), given(Line()), **how)
    return answer, answer.samples.pool.matrix()


def split_of(answer: Answer, g: Floats, x: Floats) -> Split:
    found = split_gap(answer, expecting(g, x), 0.05, np.random.default_rng(0))
    assert isinstance(found, Split)
    return found


def true_weights(x: Floats) -> Floats:
    """The density ratio of the first input."""
    return np.exp(SHIFT * x[:, 0] - SHIFT**2 / 2)


class TestTheFormula:
    def test_against_a_slow_computation(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with_weights(monkeypatch, lambda x: 0.5 + x[:, 1] ** 2)
        answer, x = moved(60, 0)
        g = np.sin(x[:, 0]) + x[:, 1]
        found = split_of(answer, g, x)
        is_p, losses = answer.samples.is_p, answer.losses
        reference = [(losses[i], g[i], 0.5 + x[i, 1] ** 2) for i in range(120) if is_p[i]]
        current = [(losses[i], g[i]) for i in range(120) if not is_p[i]]
        theta = sum(e for _, e in current) / 60
        theta += sum(w * (loss - e) for loss, e, w in reference) / 60
        before, after = (sum(row[0] for row in side) / 60 for side in (reference, current))
        assert found.inputs.value == pytest.approx(theta - before, abs=1e-12)
        assert found.relation.value == pytest.approx(after - theta, abs=1e-12)
        noise = residual_variance(losses[is_p], g[is_p])
        spread = np.var([e for _, e, _ in reference])
        spread += np.mean([(1 - w) ** 2 * v for (*_, w), v in zip(reference, noise, strict=True)])
        for part, own, modelled in (
            (
                found.inputs,
                ([w * (a - e) - a for a, e, w in reference], [e for _, e in current]),
                spread,
            ),
            (
                found.relation,
                ([w * (a - e) for a, e, w in reference], [a - e for a, e in current]),
                0.0,
            ),
        ):
            each = [max(np.var(own[0], ddof=1), modelled) / 60, np.var(own[1], ddof=1) / 60]
            kurt = [kurtosis(side, fisher=False) for side in own]
            unknown = sum(
                (v / sum(each)) ** 2 * (k - 1) / 120 for v, k in zip(each, kurt, strict=True)
            )
            half = student.ppf(0.975, 1 / unknown) * sum(each) ** 0.5
            assert part.high - part.value == pytest.approx(half)
            assert part.value - part.low == pytest.approx(half)

    @pytest.mark.parametrize("model", [given(Line()), "ridge"], ids=["given", "trained"])
    def test_the_parts_sum_to_the_gap(self, model: Any) -> None:
        rng = np.random.default_rng(1)
        x = rng.normal(size=(800, 2))
        x[400:, 0] += SHIFT
        y = x[:, 0] * np.where(np.arange(800) < 400, 1, 0.5) + rng.normal(size=800)
        answer = answered((x[:400], y[:400]), (x[400:], y[400:]), model)
        self.sums_up(answer)

    @pytest.mark.parametrize("model", [given(Chances()), "logistic"], ids=["given", "trained"])
    def test_of_classes_too(self, model: Any) -> None:
        rng = np.random.default_rng(2)
        x = rng.normal(size=(800, 2))
        x[400:, 0] += SHIFT
        y = (x[:, 0] + rng.logistic(size=800) > 0).astype(int)
        self.sums_up(answered((x[:400], y[:400]), (x[400:], y[400:]), model))

    def sums_up(self, answer: Answer) -> None:
        rng = np.random.default_rng(0)
        expected = expected_loss(answer, rng)
        assert expected is not None
        found = split_gap(answer, expected, 0.05, rng)
        assert isinstance(found, Split)
        is_p, losses = answer.samples.is_p, answer.losses
        gap = losses[~is_p].mean() - losses[is_p].mean()
        assert found.inputs.value + found.relation.value == pytest.approx(gap, abs=1e-12)
        assert found.inputs.low < found.inputs.value < found.inputs.high
        assert 50 <= found.effective_rows <= is_p.sum()


class TestResidualVariance:
    def test_squared_errors(self) -> None:
        rng = np.random.default_rng(0)
        g = rng.uniform(1, 5, size=20_000)
        losses = g * rng.normal(size=20_000) ** 2  # with variance 2 g^2
        assert residual_variance(losses, g) == pytest.approx(2 * g**2, rel=0.1)

    def test_expected_losses_near_0_do_not_blow_it_up(self) -> None:
        rng = np.random.default_rng(0)
        g = np.r_[np.full(999, 0.1), -1e-9]
        losses = 0.1 * rng.normal(size=1000) ** 2
        losses[-1] = 1.0
        found = residual_variance(losses, g)
        assert np.isfinite(found).all()
        assert found.max() < 10

    def test_no_loss_at_all(self) -> None:
        assert residual_variance(np.zeros(3), np.zeros(3)).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("known", ["both", "g", "weights"])
def test_unbiased_if_either_is_right(monkeypatch: pytest.MonkeyPatch, known: str) -> None:
    """Losses x0² + noise, 0.5 more in current; with one of the two wrong, the other mends it."""
    wrong = known == "g"
    with_weights(monkeypatch, lambda x: np.ones(len(x)) if wrong else true_weights(x))
    answer, _ = moved(150, 0)
    is_p = answer.samples.is_p
    errors, covered = [], np.zeros(2)
    truth = np.array([SHIFT**2, 0.5])
    for seed in range(300):
        rng = np.random.default_rng([3, seed])
        x = rng.normal(size=(300, 2))
        x[~is_p, 0] += SHIFT
        losses = x[:, 0] ** 2 + 0.5 * ~is_p + rng.normal(size=300)
        g = x[:, 1] if known == "weights" else x[:, 0] ** 2
        found = split_of(with_losses(answer, losses), g, x)
        parts = (found.inputs, found.relation)
        errors.append([part.value for part in parts] - truth)
        covered += [part.low <= true <= part.high for part, true in zip(parts, truth, strict=True)]
    means = np.mean(errors, axis=0)
    standard_errors = np.std(errors, axis=0, ddof=1) / 300**0.5
    assert np.abs(means / standard_errors).max() < 4
    if known == "both":
        assert covered.min() >= binom.ppf(1e-3, 300, 0.94)  # a normal interval at 150 + 150 rows


def test_both_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with neither right has no chance: the test above could fail."""
    with_weights(monkeypatch, lambda x: np.ones(len(x)))
    answer, _ = moved(150, 0)
    is_p = answer.samples.is_p
    values = []
    for seed in range(100):
        rng = np.random.default_rng([3, seed])
        x = rng.normal(size=(300, 2))
        x[~is_p, 0] += SHIFT
        losses = x[:, 0] ** 2 + rng.normal(size=300)
        values.append(split_of(with_losses(answer, losses), x[:, 1], x).relation.value)
    assert np.mean(values) > 5 * np.std(values) / 10


class TestShifts:
    DRAWS = 24
    MOST = int(binom.isf(1e-3, DRAWS, 0.05))

    @pytest.mark.parametrize("task", ["regression", "classification"])
    def test_only_the_inputs_moved(self, task: str) -> None:
        """The relation part covers 0; the inputs part finds what moved."""
        found = [self.drawn(seed, task, shift=1.0, changed=False) for seed in range(self.DRAWS)]
        assert sum(not part.relation.low <= 0 <= part.relation.high for part in found) <= self.MOST
        assert sum(part.inputs.low > 0 for part in found) > self.DRAWS / 2

    @pytest.mark.parametrize("task", ["regression", "classification"])
    def test_only_the_relation_changed(self, task: str) -> None:
        found = [self.drawn(seed, task, shift=0.0, changed=True) for seed in range(self.DRAWS)]
        assert sum(not part.inputs.low <= 0 <= part.inputs.high for part in found) <= self.MOST
        assert sum(part.relation.low > 0 for part in found) > self.DRAWS / 2

    def drawn(self, seed: int, task: str, *, shift: float, changed: bool) -> Split:
        """Errors grow with the second input; a changed relation turns the first one round."""
        rng = np.random.default_rng([4, seed])
        x, current = rng.normal(size=(600, 2)), np.arange(600) >= 300
        x[current, 1] += shift
        slope = np.where(current & changed, -1.0, 1.0) * x[:, 0]
        if task == "regression":
            y = slope + np.exp(x[:, 1] / 2) * rng.normal(size=600)
        else:
            y = (slope * np.exp(-x[:, 1]) + 0.3 * rng.logistic(size=600) > 0).astype(int)
        model = given(Line() if task == "regression" else Chances())
        answer = answered(
            (x[~current], y[~current]), (x[current], y[current]), model, task=task, rng=seed
        )
        stream = np.random.default_rng(seed)
        expected = expected_loss(answer, stream)
        assert expected is not None
        found = split_gap(answer, expected, 0.05, stream)
        assert isinstance(found, Split)
        return found


def test_groups_widen_the_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten rows of a group that share their numbers are worth one row."""
    with_weights(monkeypatch, lambda x: np.ones(len(x)))
    codes = np.arange(300) // 10
    answer, x = moved(300, 0, groups=(codes, codes + 30))
    groups = answer.samples.pool.groups
    assert groups is not None
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(2, groups.max() + 1))[:, groups]
    grouped = split_of(with_losses(answer, shared[0]), shared[1], x)
    plain, _ = moved(300, 0)
    alone = split_of(with_losses(plain, shared[0]), shared[1], x)
    for part in ("inputs", "relation"):
        wide, narrow = (getattr(one, part) for one in (grouped, alone))
        ratio = (wide.high - wide.low) / (narrow.high - narrow.low)
        assert 2.5 < ratio < 4  # sqrt(10), give or take what the rows of the samples share


@pytest.mark.parametrize("apart", ["column", "supports"])
def test_no_overlap(apart: str) -> None:
    rng = np.random.default_rng(0)
    x, current = rng.random(size=(400, 2)), np.arange(400) >= 200
    y = x[:, 0] + rng.normal(size=400)
    x[current] += [0, 5] if apart == "column" else [2, 2]
    answer = answered((x[:200], y[:200]), (x[200:], y[200:]), given(Line()))
    expected = expected_loss(answer, rng)
    assert expected is not None
    found = split_gap(answer, expected, 0.05, rng)
    assert isinstance(found, str)
    assert found.startswith("no overlap: the inputs of the samples differ so much")
    assert "% of current where the reference has rows" in found


def test_few_effective_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, x = moved(100, 0)
    for rows, covered, overlaps in ((50, 0.5, True), (49.9, 1.0, False), (90, 0.49, False)):
        ratio = DensityRatio(np.ones(100), rows, covered)
        monkeypatch.setattr(splitting, "density_ratio", lambda *_, ratio=ratio: ratio)
        found = split_gap(answer, expecting(x[:, 0], x), 0.05, np.random.default_rng(0))
        assert isinstance(found, Split) == overlaps


def test_the_document() -> None:
    answer, x = moved(200, 0)
    document = split_of(answer, x[:, 0], x).fields()
    assert set(document) == {"inputs", "relation", "effective_rows"}
    assert set(document["inputs"]) == {"value", "low", "high"}
