"""No labels on current: exact for equal inputs, and no target is read before the masks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.calibration import labels as calibration
from tests.comparison.answers import Line, given

import rdiv
from rdiv.comparison.models import choose_models
from rdiv.comparison.unlabelled import Unlabelled, ask_unlabelled, learn_expected
from rdiv.discrepancies.in_use import InUse
from rdiv.errors import InputError
from rdiv.inference.engine import PermutationSettings
from rdiv.models import BY_NAME, Frozen
from rdiv.samples.pooling import PooledSamples, pool_samples, pool_unlabelled
from rdiv.two_sample import part_of_reference, split_reference

SETTINGS = PermutationSettings(0.05, 99)


def rows(n: int, shift: float = 0.0, task: str = "regression", seed: int = 0) -> tuple[Any, Any]:
    """Targets that are harder to predict where the first input is large."""
    rng = np.random.default_rng([seed, n, int(10 * shift)])
    x = rng.normal(size=(n, 3)) + np.array([shift, 0.0, 0.0])
    if task == "regression":
        return x, x[:, 1] + np.exp(0.6 * x[:, 0]) * rng.normal(size=n)
    logits = 3 * x[:, 1] * np.exp(-x[:, 0])
    return x, (logits + rng.logistic(size=n) > 0).astype(int)


class Second:
    """A regression that was trained elsewhere."""

    def predict(self, x: Any) -> Any:
        return np.asarray(x)[:, 1]


class Odds:
    """A classification that was trained elsewhere."""

    classes_ = np.array([0, 1])

    def predict_proba(self, x: Any) -> Any:
        one = 1 / (1 + np.exp(-3 * np.asarray(x)[:, 1]))
        return np.stack([1 - one, one], axis=1)


def asked(reference: Any, current: Any, model: Any, **how: Any) -> tuple[Unlabelled, PooledSamples]:
    fixed = isinstance(model, Frozen)
    models = choose_models(model, folds=2, supervised=True, retrain=None if fixed else "same")
    pooled = pool_unlabelled(reference, current, kind=models.kind, **({"rng": 0} | how))
    return ask_unlabelled(models, pooled, SETTINGS, train_share=0.5), pooled


CASES = [
    ("regression", "ridge"),
    ("regression", given(Second())),
    ("classification", "logistic"),
    ("classification", given(Odds())),
]


@pytest.mark.parametrize(("task", "model"), CASES)
def test_it_finds_inputs_that_make_the_loss_larger(task: str, model: Any) -> None:
    found, pooled = asked(rows(600, 0.0, task), rows(600, 1.0, task)[0], model)
    assert found.result.rejected
    gap = found.expected(pooled, 0.05).gap
    assert gap is not None
    assert gap.low > 0


@pytest.mark.parametrize(("task", "model"), CASES)
def test_targets_of_the_compared_reference_rows_are_read_after_the_masks(
    task: str, model: Any
) -> None:
    """Other targets of every row outside part A change no number of the test, bit by bit."""
    reference, current = rows(300, 0.0, task), rows(200, 0.5, task)[0]
    found, pooled = asked(reference, current, model)
    x, y = reference
    tested = np.flatnonzero(found.split.tested.is_p)
    places = found.split.tested.places[tested]
    other = y.copy()
    other[places] = other[places][::-1]
    assert (other != y).any()
    again, more = asked((x, other), current, model)
    assert again.answer.losses.tobytes() == found.answer.losses.tobytes()
    assert again.result.pvalue == found.result.pvalue
    assert again.result.null_distribution.tobytes() == found.result.null_distribution.tobytes()
    assert (again.part == found.part).all()
    assert again.expected(more, 0.05).gap != found.expected(pooled, 0.05).gap


@pytest.mark.parametrize(("task", "model"), CASES)
def test_rows_exchanged_between_reference_and_current_keep_their_numbers(
    task: str, model: Any
) -> None:
    """The swap test: A passed in, no number of any row depends on where the row came from."""
    reference, current = rows(200, 0.0, task), rows(100, 0.5, task)
    x, y = (np.concatenate(pair) for pair in zip(reference, current, strict=True))
    first, pooled = asked(reference, current[0], model)
    part = first.part
    in_part = set(pooled.places[part].tolist())
    free = [row for row in range(200) if row not in in_part]
    chosen = np.array(free[:40] + list(range(200, 240)))
    order = np.arange(300)
    order[chosen] = order[chosen][::-1]
    swapped = pool_unlabelled((x[order[:200]], y[order[:200]]), x[order[200:]], rng=0, task=task)
    assert (swapped.pool.keys == pooled.pool.keys).all()
    models = choose_models(
        model, folds=2, supervised=True, retrain=None if isinstance(model, Frozen) else "same"
    )
    split = split_reference(swapped, 0.5, part)
    test = learn_expected(InUse(models.settled(swapped.pool)[0]), split)
    assert (split.tested.is_p != first.split.tested.is_p).any()
    assert test.g.of(split.tested.pool).tobytes() == first.answer.losses.tobytes()


def test_part_a_is_the_same_with_and_without_labels() -> None:
    """Also where rows share their inputs and differ in the target."""
    rng = np.random.default_rng(3)
    x = rng.integers(4, size=(120, 2)).astype(float)
    y = rng.integers(3, size=120)
    current = rng.normal(size=(50, 2)), rng.integers(3, size=50)
    labelled = pool_samples((x, y), current, rng=5)
    blind = pool_unlabelled((x, y), current[0], rng=5)
    parts = [part_of_reference(pooled, 0.5) for pooled in (labelled, blind)]
    taken = [(x[p.places[own]], y[p.places[own]])
             for p, own in zip((labelled, blind), parts, strict=True)]  # fmt: skip
    first, second = (sorted(zip(a.tolist(), b.tolist(), strict=True)) for a, b in taken)
    assert first == second
    shuffled = rng.permutation(120)
    again = pool_unlabelled((x[shuffled], y[shuffled]), current[0], rng=5)
    own = again.with_labels(part_of_reference(again, 0.5))
    before = blind.with_labels(parts[1])
    assert own.y is not None
    assert before.y is not None
    pairs = [sorted(zip(p.x.tolist(), p.y.tolist(), strict=True)) for p in (own, before)]
    assert pairs[0] == pairs[1]


@pytest.mark.parametrize("fixed", [False, True], ids=["one seed per draw", "the same seed"])
def test_false_alarms(fixed: bool) -> None:
    """150 draws of one distribution; docs/measured/calibration_labels.md has 5000."""
    name = "ridge, the same seed" if fixed else "ridge, one seed per draw"
    pvalues = np.array([calibration.null_pvalue(name, i) for i in range(150)])
    assert calibration.verdict(pvalues, ties=False) == "holds"


def test_learning_from_the_tested_rows_is_caught() -> None:
    pvalues = np.array([calibration.learned_from_b(i) for i in range(30)])
    assert calibration.verdict(pvalues, ties=True) == "STRAYS"


def test_keys_with_a_target_on_one_side_are_caught() -> None:
    """Copies are then found again in part A on one side only; keys without a target are right."""
    name = "neighbours, every row twice, the same seed"
    right = np.array([calibration.null_pvalue(name, i) for i in range(60)])
    assert calibration.verdict(right, ties=True) == "holds"
    broken = np.array([calibration.keys_with_a_target(i) for i in range(30)])
    assert calibration.verdict(broken, ties=True) == "STRAYS"


def test_rows_with_the_same_inputs_and_other_targets_keep_their_own_losses() -> None:
    """Keys do not know the target, so rows that look alike need not have one loss."""
    x = np.repeat(np.arange(60.0), 4)[:, None]
    y = x[:, 0] + np.tile([0.0, 1.0, 2.0, 3.0], 60)
    found, _ = asked((x, y), x + 0.5, given(Line()))
    tested = found.split.tested
    own = np.flatnonzero(tested.is_p)
    pool = tested.with_labels(own)
    assert pool.y is not None
    np.testing.assert_allclose(found.reference_losses(), (pool.y - pool.x[:, 0]) ** 2)


@pytest.mark.parametrize(
    ("name", "task"),
    [
        (name, task)
        for name in ("ridge", "logistic", "boosting")
        for task in ("regression", "classification")
        if getattr(BY_NAME[name], "task", task) in (task, None)
    ],
)
def test_every_supervised_model_predicts_rows_without_targets(name: str, task: str) -> None:
    found, _ = asked(rows(120, 0.0, task), rows(60, 0.0, task)[0], name, task=task)
    width = found.test.g.features(found.split.tested.pool).shape[1]
    assert width == (4 if task == "regression" else 6)


def test_three_classes_and_text() -> None:
    x, y = rows(500, 0.0, "classification")
    third = np.where(x[:, 2] > 0.8, "c", np.where(y == 1, "b", "a"))
    found = rdiv.compare((x, third), x[:200] + np.array([1.0, 0, 0]), model="logistic", rng=0)
    assert found.labels == "none"
    assert found.notes["classes"] == ["a", "b", "c"]
    assert found.prediction_columns is not None
    assert {column.name for column in found.prediction_columns} == {
        f"predicted probability of {label}" for label in "abc"
    }


def test_too_few_reference_rows() -> None:
    reference, current = rows(80), rows(50)[0]
    with pytest.raises(InputError, match="has 40 rows here, fewer than 50"):
        rdiv.compare(reference, current, model="ridge", rng=0)


def test_losses_without_inputs() -> None:
    reference = pl.DataFrame({"loss": np.arange(200.0)})
    current = pl.DataFrame({"loss": [None] * 50}, schema={"loss": pl.Float64})
    with pytest.raises(InputError, match="there are no inputs to expect one from"):
        rdiv.compare(reference, current, loss="loss", rng=0)


def test_logged_losses_that_current_lacks() -> None:
    x, y = rows(600)
    losses = (y - x[:, 1]) ** 2
    table = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "loss": losses})
    current = pl.DataFrame({"a": x[:300, 0] + 1, "b": x[:300, 1]})
    found = rdiv.compare(table, current, loss="loss", rng=0)
    assert (found.labels, found.verdict, found.direction) == (
        "none",
        "expected risk shift",
        "worse",
    )


def test_images_are_judged_by_their_predictions() -> None:
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x = rng.random(size=(160, 1, 8, 8)).astype(np.float32)
    y = (x.mean(axis=(1, 2, 3)) > 0.5).astype(int)

    class Bright:
        classes_ = np.array([0, 1])

        def predict_proba(self, rows: Any) -> Any:
            one = np.clip(8 * (np.asarray(rows).mean(axis=(1, 2, 3)) - 0.5) + 0.5, 0.01, 0.99)
            return np.stack([1 - one, one], axis=1)

    found = rdiv.compare((x, y), x[:60] * 0.5, model=given(Bright()), retrain=None, rng=0)
    assert found.labels == "none"
    assert found.expected is not None
    assert found.expected.outside is None


def test_blind_pools_pickle_and_split_alike() -> None:
    reference, current = rows(200), rows(100)[0]
    pooled = pool_unlabelled(reference, current, rng=0)
    assert pooled.apart is not None
    part = pooled.part(np.arange(50))
    assert part.apart is not None
    assert len(part.apart.keys) == 50
    with pytest.raises(InputError, match="only reference rows have labels"):
        pooled.with_labels(np.arange(len(pooled.is_p)))
    assert replace(pooled, apart=None).with_labels(np.arange(3)).y is None
