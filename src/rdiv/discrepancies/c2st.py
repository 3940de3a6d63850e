"""Classifier two-sample tests: a classifier of p against q is tested on unseen rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.protocol import Discrepancy
from rdiv.errors import InputError
from rdiv.inference.mean_gaps import mean_gaps
from rdiv.inference.prepared import Masks, Prepared
from rdiv.losses import log_loss
from rdiv.models.adapters import as_model
from rdiv.models.networks.default_networks import NetworkClassifier
from rdiv.models.networks.modules import is_module
from rdiv.models.networks.torch_model import FittedTorchModel
from rdiv.models.protocol import (
    FittedModel,
    Model,
    check_losses,
    fit_model,
    losses_of,
    task_of,
)
from rdiv.names import spelled
from rdiv.samples.pool import Pool

__all__ = ["AccuracyC2st", "LearnsClassifier", "LogitC2st", "Scored", "fit_classifier"]

LABELS = np.array(["q", "p"])


@dataclass(frozen=True)
class AccuracyC2st:
    """Accuracy of a classifier that tells p from q on rows it has not seen (C2ST-S).

    The classifier is trained on one half of each sample, and the labels of the other half are
    permuted. The test is directed: only an accuracy above chance is evidence against p = q.

    Parameters
    ----------
    model : classifier, optional
        A scikit-learn classifier (cloned), a name such as ``"boosting"``, a torch module, or a
        model that does classification. By default a small perceptron, which needs the ``torch``
        extra.

    Notes
    -----
    The statistic is the balanced accuracy, the mean of the shares of p and of q that are
    recognised; a row counts as p when its log odds exceed those of the training sizes, and half
    when they are equal. For ``n_p = n_q`` that is the plain accuracy of Lopez-Paz and Oquab
    (2017), and for any fixed sizes permuting either gives the same p-value. Accuracies have ties,
    so the test is conservative. The R-divergence paper's table of methods has the formulas of
    ``c2st-s`` and ``c2st-l`` the other way round; the names here are those of the literature.

    A test with out-of-fold scores of all rows would not be exact: every row helps to train the
    classifiers of other rows.

    Examples
    --------
    >>> from rdiv import two_sample_test
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(80, 2)), rng.normal(size=(80, 2)) + 1
    >>> result = two_sample_test(p, q, "c2st-s", model=LogisticRegression(), rng=0)
    >>> print(result.rejected, round(result.statistic, 3))
    True 0.663
    """

    compares = "accuracy of a classifier of p against q on unseen rows"
    takes = "classifier"
    learning = "the classifier, on one half"
    cost = "one training"
    sees = "differences that the classifier learns; ties make it conservative"
    citation = "Lopez-Paz and Oquab 2017"
    directed = True

    model: Any = None

    task = "density"
    model_role = "classifier"
    learns = "halves"

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", _as_classifier(self.model))

    def learn(self, pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator) -> Scored:
        """Train the classifier on these rows."""
        return self.from_classifier(fit_classifier(self.model, pool, is_p, rng), is_p)

    def from_classifier(self, fitted: FittedModel, is_p: NDArray[np.bool_]) -> Scored:
        """The same from a classifier that is trained already."""
        return Scored(fitted, int(is_p.sum()), int((~is_p).sum()), accuracy=True)


@dataclass(frozen=True)
class LogitC2st:
    """Difference between a classifier's mean log odds on unseen rows of p and of q (C2ST-L).

    The classifier is trained on one half of each sample, and the labels of the other half are
    permuted. The test is directed: only higher log odds of the rows of p are evidence against
    p = q.

    Parameters
    ----------
    model : classifier, optional
        A scikit-learn classifier (cloned), a name such as ``"boosting"``, a torch module, or a
        model that does classification. By default a small perceptron, which needs the ``torch``
        extra.

    Notes
    -----
    The log odds of p against q estimate the log ratio of the two densities, whose mean gap between
    the samples is the statistic (Cheng and Cloninger 2022; the test is called C2ST-L by Liu et al.
    2020). Log odds hold more information than the accuracy, so this test usually has more power.
    They are clipped to ``log(n + 1)``, with n training rows: otherwise a forest's probability of 0
    would outweigh all other rows.

    Examples
    --------
    >>> from rdiv import two_sample_test
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(80, 2)), rng.normal(size=(80, 2)) + 1
    >>> result = two_sample_test(p, q, "c2st-l", model=LogisticRegression(), rng=0)
    >>> print(result.rejected, round(result.statistic, 1))
    True 1.1
    """

    compares = "mean log odds of a classifier of p against q on unseen rows"
    takes = "classifier"
    learning = "the classifier, on one half"
    cost = "one training"
    sees = "differences that the classifier learns, also when it is unsure of every row"
    citation = "Cheng and Cloninger 2022"
    directed = True

    model: Any = None

    task = "density"
    model_role = "classifier"
    learns = "halves"

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", _as_classifier(self.model))

    def learn(self, pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator) -> Scored:
        """Train the classifier on these rows."""
        return self.from_classifier(fit_classifier(self.model, pool, is_p, rng), is_p)

    def from_classifier(self, fitted: FittedModel, is_p: NDArray[np.bool_]) -> Scored:
        """The same from a classifier that is trained already."""
        return Scored(fitted, int(is_p.sum()), int((~is_p).sum()), accuracy=False)


@runtime_checkable
class LearnsClassifier(Protocol):
    """A test that learns nothing but a classifier of p against q, and so can share it."""

    @property
    def model(self) -> Model:
        """The classifier before its training."""
        ...

    def from_classifier(self, fitted: FittedModel, is_p: NDArray[np.bool_]) -> Discrepancy:
        """What `learn` gives, from a classifier that is trained already."""
        ...


@dataclass(frozen=True, eq=False)
class Scored:
    """A trained classifier of p against q, to be tested on the held-out half.

    Parameters
    ----------
    fitted : FittedModel
        Its losses with either label give the log odds of each row.
    n_p, n_q : int
        Rows that it was trained on.
    accuracy : bool
        Rank the balanced accuracy rather than the gap between mean log odds.
    """

    fitted: FittedModel
    n_p: int
    n_q: int
    accuracy: bool

    task = "density"

    def log_odds(self, pool: Pool) -> NDArray[np.float64]:
        """Log odds of q against p for every row, ``(n,)``, as if both were equally frequent."""
        as_q, as_p = _losses_with_either_label(self.fitted, pool)
        odds = np.asarray(as_p) - np.asarray(as_q) + log(self.n_p / self.n_q)
        bound = log(self.n_p + self.n_q + 1)
        return check_losses(np.clip(odds, -bound, bound), pool, "the classifier")

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Score every row once."""
        del rng
        odds = self.log_odds(pool)
        numbers = np.heaviside(odds, 0.5) if self.accuracy else odds
        gaps = mean_gaps(numbers[:, None], studentize=False, groups=pool.groups, strata=pool.strata)

        def statistic(masks: Masks) -> NDArray[np.float64]:
            gap: NDArray[np.float64] = gaps(masks)[:, 0]
            return (1 + gap) / 2 if self.accuracy else gap

        return Prepared(statistic)


def fit_classifier(
    model: Model, pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator
) -> FittedModel:
    """A classifier of p against q, trained on these rows."""
    return fit_model(model, _labelled(pool, is_p.astype(np.intp)), rng)


def _losses_with_either_label(fitted: FittedModel, pool: Pool) -> list[NDArray[np.float64]]:
    """Losses of all rows as if they came from q, and as if they came from p."""
    labels = [np.full(len(pool), label) for label in (0, 1)]
    if isinstance(fitted, FittedTorchModel) and fitted.objective.loss is None:
        probabilities = fitted.probabilities(pool)  # one pass through the network for both
        return [log_loss(label, probabilities) for label in labels]
    return [losses_of(fitted, _labelled(pool, label)) for label in labels]


def _labelled(pool: Pool, labels: NDArray[np.intp]) -> Pool:
    return replace(pool, y=labels, task="classification", classes=LABELS)


def _as_classifier(model: Any) -> Model:
    if model is None or is_module(model):
        return NetworkClassifier(model)
    found = as_model(model)
    task = task_of(found)
    if task not in (None, "classification"):
        raise InputError(
            f"c2st needs a classifier to tell p from q, got {spelled(found, {})}, which does "
            f"{task}; pass a classifier, or nothing for a small network."
        )
    return found
