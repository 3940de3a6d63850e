"""The tests that tables have in common, under the names of the paper."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rdiv.discrepancies import (
    AccuracyC2st,
    CrossRisk,
    DeepMmd,
    GaussianMmd,
    HDivergence,
    LogitC2st,
    MeanEmbedding,
    Omnibus,
    RDivergence,
    Score,
    SmoothCharacteristicFunction,
)
from rdiv.models.network_classifier import NetworkClassifier
from rdiv.models.protocol import Model
from rdiv.models.training_settings import Training

__all__ = ["QUICK", "kernel_tests", "learners", "model_tests", "refits"]


def model_tests(model: Model) -> dict[str, Any]:
    """R-Div, score and omnibus of one model; a study that shares fits trains it once."""
    return {"R-Div": RDivergence(model), "score": Score(model), "omnibus": Omnibus(model)}


def kernel_tests(model: Model) -> dict[str, Any]:
    """All tests that a kernel density needs one fit for, and MMD-O with the median bandwidth."""
    return {
        **model_tests(model),
        "H-Div": HDivergence(model),
        "H-Div (max)": HDivergence(model, "max"),
        "cross-risk": CrossRisk(model),
        "MMD-O (median)": GaussianMmd(),
    }


def refits(model: Model) -> dict[str, Any]:
    """H-Div of a network: two trainings from fresh weights for each relabelling."""
    return {"H-Div": HDivergence(model, warm=False)}


def learners(training: Training | None = None) -> dict[str, Any]:
    """Tests that learn with labels; both C2ST have the same classifier, which a study can share.

    MMD-O chooses its bandwidth for power, as in the comparisons that the paper takes over.

    Parameters
    ----------
    training : Training, optional
        For the networks, instead of their own settings.
    """
    network, kernel = NetworkClassifier(), DeepMmd()
    if training is not None:
        network, kernel = replace(network, training=training), replace(kernel, training=training)
    return {
        "ME": MeanEmbedding(),
        "SCF": SmoothCharacteristicFunction(),
        "C2ST-S": AccuracyC2st(network),
        "C2ST-L": LogitC2st(network),
        "MMD-O": GaussianMmd("power"),
        "MMD-D": kernel,
    }


QUICK = {
    name: test
    for name, test in learners(Training(epochs=2)).items()
    if name not in ("ME", "SCF", "C2ST-S")
}
"""Enough tests that learn to see that a table runs."""
