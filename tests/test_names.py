"""From names to objects and from objects to names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import rdiv
from rdiv.discrepancies import BY_NAME as DISCREPANCIES
from rdiv.discrepancies import Energy, RDivergence
from rdiv.models import BY_NAME, CrossFit, Frozen, GaussianMixture, KernelDensity, as_model
from rdiv.names import chosen, spelled
from rdiv.samples import Pool


@pytest.mark.parametrize("names", [BY_NAME, DISCREPANCIES])
def test_a_name_gives_its_class(names: dict[str, type]) -> None:
    for name, cls in names.items():
        assert chosen(name, names, "thing") is cls


@pytest.mark.parametrize(
    ("name", "near"),
    [("KDE", "kde"), ("boost", "boosting"), ("logistc", "logistic"), ("rigde", "ridge")],
)
def test_unknown_names_suggest_the_nearest(name: str, near: str) -> None:
    words = rf"unknown model '{name}'; did you mean '{near}'\? Known: mixed, kde, gmm, .*boosting"
    with pytest.raises(ValueError, match=words):
        chosen(name, BY_NAME, "model")


def test_far_names_only_list_the_known() -> None:
    known = ", ".join(rdiv.discrepancies.BY_NAME)
    with pytest.raises(ValueError, match=rf"^unknown discrepancy 'xyzzy'; Known: {known}\.$"):
        rdiv.two_sample_test(np.zeros((3, 1)), np.ones((3, 1)), "xyzzy")


@dataclass(frozen=True)
class Mine:
    """A user's own model, with a setting that may be an array."""

    weights: Any = None

    def fit(self, pool: Pool, rng: np.random.Generator) -> Mine:
        return self

    def losses(self, pool: Pool) -> np.ndarray:
        return pool.numbers()[:, 0]


class Plain:
    """No dataclass, no text of its own."""


class Named:
    def __str__(self) -> str:
        return "my own text"


class Represented:
    def __repr__(self) -> str:
        return "Represented(\n  a=1\n)"


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        (KernelDensity(), "kde"),
        (KernelDensity(bandwidth=0.5), "kde(bandwidth=0.5)"),
        (GaussianMixture(4, "diag"), "gmm(components=4, covariance='diag')"),
        (CrossFit(GaussianMixture(4), 3), "gmm(components=4), 3 folds"),
        (as_model(LogisticRegression()), "LogisticRegression()"),
        (as_model(LogisticRegression(C=2.0)), "LogisticRegression(C=2.0)"),
        (CrossFit(as_model(LogisticRegression()), 5), "LogisticRegression(), 5 folds"),
        (Frozen(LogisticRegression(), trained_on="neither"), "Frozen(LogisticRegression())"),
        (Mine(), "Mine"),
        (Mine(3), "Mine(weights=3)"),
        (Plain(), "Plain"),
        (Named(), "my own text"),
        (Represented(), "Represented( a=1 )"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_things_have_a_short_text(obj: Any, text: str) -> None:
    assert spelled(obj, BY_NAME) == text


def test_discrepancies_without_their_model() -> None:
    test = RDivergence(KernelDensity(), studentize=False)
    assert spelled(test, DISCREPANCIES, without=("model",)) == "r-div(studentize=False)"
    assert spelled(RDivergence(KernelDensity()), DISCREPANCIES, without=("model",)) == "r-div"
    assert spelled(Energy(), DISCREPANCIES) == "energy"


def test_settings_that_are_arrays_do_not_fail_or_spill() -> None:
    text = spelled(Mine(np.arange(5000.0)), BY_NAME)
    assert text.startswith("Mine(")
    assert "\n" not in text
    assert len(text) < 200
    frozen = spelled(Frozen(Mine(np.zeros(3)), trained_on="neither"), BY_NAME)
    assert frozen.startswith("Frozen(Mine")


@pytest.mark.parametrize(
    "pipeline",
    [
        make_pipeline(FunctionTransformer(lambda x: x), LogisticRegression()),
        make_pipeline(
            make_column_transformer((StandardScaler(), make_column_selector("a"))),
            LogisticRegression(),
        ),
    ],
    ids=["a function", "a selector"],
)
def test_no_text_holds_an_address_in_memory(pipeline: Any) -> None:
    """An address changes from run to run, and with it the bytes of the document."""
    for model in (as_model(pipeline), CrossFit(as_model(pipeline), 3)):
        text = spelled(model, BY_NAME)
        assert "LogisticRegression" in text
        assert not re.search(r"0x[0-9a-f]{6,}", text)
