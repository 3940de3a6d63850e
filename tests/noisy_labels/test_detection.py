"""Detection: the same answer for any order of rows, clear errors, and flips that are found."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from rdiv.models import CrossFit, Frozen, Logistic, Mlp
from rdiv.noisy_labels import LabelNoise, LabelNoiseDetector, flip_labels, split_by_loss
from rdiv.noisy_labels.detection import class_probabilities
from rdiv.noisy_labels.labelled import pool_labelled
from rdiv.results import SCHEMA

pytestmark = pytest.mark.trains


def blobs(n: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three clusters: rows, right labels, and labels of which a fifth is the next one."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    x = np.array([[0, 0], [4, 0], [0, 4]])[y] + rng.normal(size=(n, 2))
    return x, y, flip_labels(y, "pair", 0.2, rng=seed + 1)


@pytest.fixture(scope="module")
def found() -> LabelNoise:
    x, _, given = blobs()
    return LabelNoiseDetector("logistic").fit(x, given, rng=0)


def test_planted_flips_are_found_and_put_right(found: LabelNoise) -> None:
    _, right, given = blobs()
    wrong = given != right
    assert roc_auc_score(wrong, -found.ranks) > 0.97
    assert (found.suspected & wrong).sum() > 0.8 * wrong.sum()
    assert (found.suggested[found.suspected & wrong] == right[found.suspected & wrong]).mean() > 0.9
    assert found.noise_interval is not None
    assert found.noise_interval.low <= wrong.mean() <= found.noise_interval.high


def test_the_fields_fit_together(found: LabelNoise) -> None:
    n = len(found.losses)
    assert sorted(found.ranks.tolist()) == list(range(1, n + 1))
    assert found.suspected.sum() == round(found.noise_rate * n)
    assert found.ranks[found.suspected].max() == found.suspected.sum()
    assert (found.suggested[found.suspected] != found.given[found.suspected]).all()
    gap = found.losses[found.suspected].mean() - found.losses[~found.suspected].mean()
    assert found.discrepancy == pytest.approx(gap)


def test_the_order_of_the_rows_does_not_matter(found: LabelNoise) -> None:
    x, _, given = blobs()
    order = np.random.default_rng(5).permutation(len(x))
    again = LabelNoiseDetector("logistic").fit(x[order], given[order], rng=0)
    assert (again.losses == found.losses[order]).all()
    assert (again.suspected == found.suspected[order]).all()


def test_jobs_and_containers_do_not_change_a_bit(found: LabelNoise) -> None:
    x, _, given = blobs()
    table = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "label": given})
    jobs = LabelNoiseDetector("logistic", n_jobs=2).fit(x, given, rng=0)
    assert jobs.to_json() == found.to_json()
    named = LabelNoiseDetector("logistic").fit(table, target="label", rng=0)
    series = LabelNoiseDetector("logistic").fit(table.drop("label"), table["label"], rng=0)
    frame = LabelNoiseDetector("logistic").fit(table.to_pandas(), target="label", rng=0)
    assert named.to_json() == series.to_json() == frame.to_json()


def test_a_document_survives_json(found: LabelNoise) -> None:
    document = json.loads(found.to_json())
    assert document == found.to_dict()
    assert {"losses", "ranks", "suspected", "suggested", "noise_rate", "discrepancy"} <= set(
        document
    )
    assert [row["row"] for row in document["rows"]] == found.rows()["row"]
    assert document["schema"] == SCHEMA


def test_by_the_loss_the_split_is_that_of_the_paper() -> None:
    x, _, given = blobs()
    found = LabelNoiseDetector("logistic", 0.3, ranking="loss").fit(x, given, rng=0)
    assert (found.suspected == split_by_loss(found.losses, 0.3)).all()
    inside = LabelNoiseDetector("logistic", 0.3, folds=None).fit(x, given, rng=0)
    assert (inside.suspected == split_by_loss(inside.losses, 0.3)).all()
    assert inside.noise_interval is None
    assert np.isnan(inside.probabilities).all()
    assert "in-sample" in inside.notes["folds"]


def test_the_rule_of_the_paper_is_one_of_its_shares() -> None:
    x, _, given = blobs()
    found = LabelNoiseDetector("logistic", "paper").fit(x, given, rng=0)
    assert found.noise_rate in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
    assert "by the paper's rule" in str(found)


class Centres:
    """A model of one's own, with losses alone: the squared distance to the mean of a class."""

    task = "classification"

    def fit(self, pool: Any, rng: np.random.Generator) -> Any:
        means = np.stack([pool.x[pool.y == code].mean(axis=0) for code in range(3)])

        class Fitted:
            def losses(self, pool: Any) -> np.ndarray:
                return ((pool.x - means[pool.y]) ** 2).sum(axis=1) / 2

        return Fitted()


@pytest.mark.parametrize("model", [Centres(), Mlp(epochs=60), LogisticRegression(), "boosting"])
def test_any_classifier_will_do(model: Any) -> None:
    x, right, given = blobs()
    found = LabelNoiseDetector(model).fit(x, given, rng=0)
    assert roc_auc_score(given != right, -found.ranks) > 0.9


def test_probabilities_from_losses_agree_with_those_of_the_model() -> None:
    x, _, given = blobs()
    rows = pool_labelled(x, given, rng=0)
    fitted = CrossFit(Logistic(), 3, repeats=1).fit(rows.pool, rows.stream())

    bare = tuple(type("Bare", (), {"losses": fit.losses})() for fit in fitted.fits)
    found = class_probabilities(replace(fitted, fits=bare), rows.pool)
    assert np.allclose(found, fitted.probabilities(rows.pool))


def test_models_with_folds_of_their_own_and_frozen_ones_are_taken_as_they_are() -> None:
    x, right, given = blobs()
    found = LabelNoiseDetector(CrossFit(Logistic(), 3)).fit(x, given, rng=0)
    assert found.model == "logistic, 3 folds"
    elsewhere = LogisticRegression().fit(*blobs(seed=9)[:2])
    frozen = LabelNoiseDetector(Frozen(elsewhere, trained_on="neither")).fit(x, given, rng=0)
    assert roc_auc_score(given != right, -frozen.ranks) > 0.97


def test_labels_may_be_text_whole_floats_or_booleans() -> None:
    x, _, given = blobs()
    detector = LabelNoiseDetector("logistic")
    words = detector.fit(x, np.array(["ant", "bee", "cow"])[given], rng=0)
    assert set(words.suggested) <= {"ant", "bee", "cow"}
    assert detector.fit(x, given.astype(float), rng=0).classes.dtype.kind == "f"
    assert detector.fit(x, given > 0, rng=0).classes.tolist() == [False, True]


def test_on_digits_pair_flips_are_ranked_better_than_by_the_loss() -> None:
    x, y = load_digits(return_X_y=True)
    given = flip_labels(y, "pair", 0.2, rng=0)
    found = LabelNoiseDetector("logistic").fit(x, given, rng=0)
    wrong = given != y
    assert roc_auc_score(wrong, -found.ranks) > roc_auc_score(wrong, found.losses) + 0.02


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (["a"] * 40, "two classes or more, got one class in 40 rows"),
        (np.r_[np.nan, np.zeros(39)], "must have no missing values, got 1 of 40"),
        ([None] + ["a"] * 20 + ["b"] * 19, "must have no missing values, got 1 of 40"),
        (np.linspace(0, 1, 40), "labels must be classes, got continuous numbers such as 0.0256"),
        (["a"] * 37 + ["b"] * 3, r"as many rows as there are folds \(5\), got 3 of class b"),
        (["a", "b"] * 10, "X and y must have equally many rows, got 40 and 20"),
    ],
)
def test_labels_that_are_none_are_refused_in_one_sentence(y: Any, words: str) -> None:
    x = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ValueError, match=words):
        LabelNoiseDetector("logistic").fit(x, y)


def test_columns_that_are_missing_are_refused_in_one_sentence() -> None:
    frame = pd.DataFrame({"age": [1.0, 2.0], "label": ["a", "b"]})
    detector = LabelNoiseDetector("logistic")
    with pytest.raises(ValueError, match="no column 'lable'; did you mean 'label'"):
        detector.fit(frame, target="lable")
    with pytest.raises(ValueError, match="labels are missing"):
        detector.fit(frame)
    with pytest.raises(ValueError, match="labels were given twice"):
        detector.fit(frame, ["a", "b"], target="label")
    with pytest.raises(ValueError, match="target names a column of a table, got arrays"):
        detector.fit(frame[["age"]].to_numpy(), target="label")
    with pytest.raises(ValueError, match="at least one input column"):
        detector.fit(frame[["label"]], target="label")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"noise_rate": 1.0}, "noise_rate must be a share of at least 0 and below 1, got 1.0"),
        ({"noise_rate": "much"}, "'auto' or 'paper', got 'much'"),
        ({"ranking": "size"}, "ranking must be 'posterior' or 'loss'"),
        ({"folds": None}, "noise_rate='auto' needs folds"),
    ],
)
def test_settings_that_mislead_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        LabelNoiseDetector("logistic", **settings)


def test_a_model_for_another_task_is_refused() -> None:
    x, _, given = blobs()
    with pytest.raises(ValueError, match="a model for classification, got ridge"):
        LabelNoiseDetector("ridge").fit(x, given)


def test_no_label_is_suspected_at_rate_zero() -> None:
    x, _, given = blobs()
    found = LabelNoiseDetector("logistic", 0.0).fit(x, given, rng=0)
    assert not found.suspected.any()
    assert found.to_dict()["discrepancy"] is None
    assert str(found).startswith("0 of 240 labels")
