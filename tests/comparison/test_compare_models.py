"""compare_models: one pair, several models, judged together."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression
from tests.comparison.conftest import FirstColumn, X, regression

import rdiv
from rdiv.models import Frozen
from rdiv.progress import progress_sent_to

FAST: dict[str, Any] = {"drivers": False, "n_resamples": 199, "rng": 0}
P, Q = regression(noise=3.0, n_p=100)  # the target has more noise, the inputs are as before
MODELS = {"inputs": FirstColumn(), "line": "ridge"}


def test_the_same_for_one_model_and_not_for_another() -> None:
    found = rdiv.compare_models(P, Q, MODELS, **FAST)
    assert found.by == "model"
    assert found.unit == "model"
    assert [level.name for level in found.levels] == list(MODELS)
    assert [level.verdict for level in found.levels] == ["no shift", "risk shift"]
    assert [level.rows for level in found.levels] == [100, 100]
    assert (found.verdict, found.shifted) == ("risk shift", True)
    assert found.headline() == "The samples differ for 1 of 2 models: line (worse)."
    text = str(found)
    assert "together: Holm over 2 models at alpha 0.05" in text
    assert "permutations: 199 per model; seed 0" in text
    assert "level" not in text


def test_in_the_order_given() -> None:
    turned = rdiv.compare_models(P, Q, dict(reversed(MODELS.items())), **FAST)
    assert [level.name for level in turned.levels] == ["line", "inputs"]
    one = rdiv.compare_models(P, Q, MODELS, **FAST)
    assert turned.levels[0].to_dict() == one.levels[1].to_dict()


def test_holm_over_the_models() -> None:
    models = MODELS | {"scikit": LinearRegression()}
    found = rdiv.compare_models(P, Q, models, **FAST)
    alone = [rdiv.compare(P, Q, model=model, alpha=0.05 / 3, **FAST) for model in models.values()]
    whole = np.array([one.pvalue for one in alone])
    smallest, largest = int(whole.argmin()), int(whole.argmax())
    for place, (level, one) in enumerate(zip(found.levels, alone, strict=True)):
        assert level.comparison is not None
        assert level.comparison.to_json() == one.to_json()
        together = level.adjusted_pvalues["together"]
        if place == smallest:
            assert together == pytest.approx(min(1, 3 * one.pvalue))
        if place == largest:
            assert together >= one.pvalue
        for name, pvalue in one.adjusted_pvalues.items():
            expected = min(1.0, max(3 * pvalue, together))
            assert level.adjusted_pvalues[name] == pytest.approx(expected)


def test_no_shift_for_any() -> None:
    found = rdiv.compare_models(*regression(n_p=100), MODELS, **FAST)
    assert found.headline() == "No shift found for any of 2 models."
    assert (found.verdict, found.shifted) == ("no shift", False)


def test_models_in_use_and_those_that_are_trained() -> None:
    rng = np.random.default_rng(0)
    y = X[:, 0] + rng.normal(size=200) * np.where(np.arange(200) < 100, 1.0, 3.0)
    table = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y, "day": np.arange(200)})
    fitted = LinearRegression().fit(table.select("a", "b").to_pandas(), X[:, 0])
    frozen = Frozen(fitted, trained_on="neither")
    pair = table[:100].to_pandas(), table[100:].to_pandas()
    found = rdiv.compare_models(
        *pair, {"ours": frozen, "ridge": "ridge"}, target="y", drop="day", **FAST
    )
    ours, ridge = (level.comparison for level in found.levels)
    assert ours is not None
    assert ridge is not None
    assert "rows trained on" not in ours.results["in-use"].notes
    assert ridge.results["in-use"].notes["rows trained on"] == 50
    assert {level.verdict for level in found.levels} == {"risk shift"}
    assert ours.warnings == ridge.warnings == ()  # the day is left out


def test_the_document() -> None:
    found = rdiv.compare_models(P, Q, MODELS, correction="bh", **FAST)
    document = json.loads(found.to_json())
    assert document == found.to_dict()
    assert set(document) == {
        "schema", "verdict", "correction", "alpha", "n_resamples", "seed", "by", "run", "levels",
    }  # fmt: skip
    assert (document["schema"], document["by"], document["correction"]) == (2, "model", "bh")
    assert [level["name"] for level in document["levels"]] == list(MODELS)
    assert set(document["levels"][0]) == {
        "name", "rows", "verdict", "direction", "adjusted_pvalues", "skipped", "comparison",
    }  # fmt: skip
    assert document["levels"][0]["comparison"]["schema"] == 2


def test_each_is_counted_as_it_starts() -> None:
    said: list[str] = []
    with progress_sent_to(said.append):
        rdiv.compare_models(P, Q, MODELS, **FAST)
    assert any(text.startswith("model 1 of 2") for text in said)


@pytest.mark.parametrize("models", [{}, ["ridge", "boosting"], "ridge", None])
def test_what_is_no_mapping(models: Any) -> None:
    with pytest.raises(TypeError, match="models must be a mapping of names to models"):
        rdiv.compare_models(P, Q, models, **FAST)


@pytest.mark.parametrize(
    ("models", "how", "words"),
    [
        ({"good": "ridge", "bad": "nothing"}, {}, "model bad: unknown model 'nothing'"),
        ({"a": "ridge"}, {"retrain": "ridge"}, "model a: retrain= is for a model in use"),
        (MODELS, {"correction": "bonferroni"}, "unknown correction"),
        ({str(k): "ridge" for k in range(30)}, {}, "199 permutations can never find a shift"),
        (MODELS, {"alpha": 2.0}, "alpha must lie strictly between"),
    ],
    ids=str,
)
def test_refused(models: Any, how: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        rdiv.compare_models(P, Q, models, **(FAST | how))
