"""What a model is asked for, and whose name its errors carry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rdiv
from rdiv.errors import InputError
from rdiv.models import Frozen, GaussianMixture, KernelDensity, Ridge
from rdiv.models.cross_fit import CrossFit
from rdiv.models.protocol import (
    gradients_of,
    is_held_out,
    owners_of,
    probabilities_of,
    residuals_of,
    task_of,
)
from rdiv.samples import Pool


class Unfinished:
    """A model of one's own with a mistake, in one method or the other."""

    def __init__(self, where: str) -> None:
        self.where = where

    def fit(self, pool: Any, rng: np.random.Generator) -> Unfinished:
        if self.where == "fit":
            raise KeyError("age")
        return self

    def losses(self, pool: Any) -> Any:
        raise ZeroDivisionError


@pytest.mark.parametrize("folds", [None, 2])
@pytest.mark.parametrize(
    "test", ["r-div", "h-div", "cross-risk", "score", "omnibus", "ks-loss", "in-use", "c2st-l"]
)
def test_an_error_of_its_own_says_which_step_and_stays_the_cause(
    test: str, folds: int | None
) -> None:
    model: Any = Unfinished("fit")
    settings: dict[str, Any] = {"model": model, "n_resamples": 19, "rng": 0}
    if test not in ("c2st-l", "in-use"):
        settings["folds"] = folds
    p, q = np.arange(40.0), np.arange(40.0) + 0.5
    with pytest.raises(
        InputError, match=r"^fitting Unfinished failed \(KeyError: 'age'\)"
    ) as found:
        rdiv.two_sample_test(p, q, test, **settings)
    assert isinstance(found.value.__cause__, KeyError)


@pytest.mark.parametrize("folds", [None, 2])
def test_an_error_in_its_losses_is_named_too(folds: int | None) -> None:
    with pytest.raises(
        InputError, match=r"losses of Unfinished failed \(ZeroDivisionError\)"
    ) as found:
        rdiv.compare(np.arange(40.0), np.arange(40.0), model=Unfinished("losses"), folds=folds)
    assert isinstance(found.value.__cause__, ZeroDivisionError)


def test_what_our_own_models_raise_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Any, pool: Any, rng: Any) -> None:
        raise KeyError("a bug of ours")

    monkeypatch.setattr(GaussianMixture, "fit", broken)
    with pytest.raises(KeyError, match="a bug of ours"):
        rdiv.r_divergence(np.arange(9.0), np.arange(9.0), model="gmm")


def test_what_is_optional_is_asked_in_one_way() -> None:
    x = np.random.default_rng(0).normal(size=(30, 2))
    pool = Pool(x, y=x[:, 0], task="regression")
    fitted: Any = Ridge().fit(pool, np.random.default_rng(0))
    crossed = CrossFit(Ridge(), 3).fit(pool, np.random.default_rng(0))
    for each in (fitted, crossed):
        gradients = gradients_of(each)
        assert gradients is not None
        assert gradients(pool).shape == (30, 3)
        assert owners_of(each, pool) == (None, "column 0", "column 1")
    assert residuals_of(fitted) is not None
    bare: Any = object()
    for ask in (gradients_of, residuals_of, probabilities_of):
        assert ask(bare) is None
    assert owners_of(bare, pool) is None
    assert (task_of(Ridge()), task_of(KernelDensity()), task_of(bare)) == (
        "regression",
        "density",
        None,
    )
    models = (CrossFit(Ridge(), 3), Frozen(fitted, trained_on="neither"), Ridge(), bare)
    assert [is_held_out(model) for model in models] == [True, True, False, False]


def test_folds_without_a_method_have_none() -> None:
    x = np.random.default_rng(0).normal(size=(30, 2))
    model: Any = Distance()
    crossed = CrossFit(model, 3).fit(Pool(x), np.random.default_rng(0))
    assert crossed.gradients is None
    assert gradients_of(crossed) is None
    with pytest.raises(InputError, match="Distance gives no probabilities"):
        crossed.probabilities(Pool(x))


class Distance:
    """A model of one's own that has losses and nothing else."""

    def fit(self, pool: Any, rng: np.random.Generator) -> Distance:
        return self

    def losses(self, pool: Any) -> Any:
        return np.square(pool.x).sum(axis=1)
