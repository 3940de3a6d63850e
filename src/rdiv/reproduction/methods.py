"""The tests that tables have in common, under the names of the paper, and studies of them."""

from __future__ import annotations

from collections.abc import Mapping
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
from rdiv.models.networks.default_networks import NetworkClassifier
from rdiv.models.networks.training import Training
from rdiv.models.protocol import Model
from rdiv.reproduction.parts import Part

__all__ = [
    "QUICK",
    "density_refits",
    "kernel_tests",
    "learner_parts",
    "learners",
    "model_tests",
    "network_parts",
    "once",
    "refits",
]


def model_tests(model: Model) -> dict[str, Any]:
    """R-Div, score and omnibus of one model; a study that shares fits trains it once.

    Omnibus is that of r-div and score alone: the tables ask what a model sees.
    """
    return {
        "R-Div": RDivergence(model),
        "score": Score(model),
        "omnibus": Omnibus(model, inputs=False),
    }


def kernel_tests(model: Model) -> dict[str, Any]:
    """All tests that a kernel density needs one fit for, and MMD-O with the median bandwidth."""
    return {
        **model_tests(model),
        "H-Div": HDivergence(model),
        "H-Div (max)": HDivergence(model, "max"),
        "cross-risk": CrossRisk(model),
        "MMD-O (median)": GaussianMmd(),
    }


def density_refits(model: Model) -> dict[str, Any]:
    """R-Div beside the tests that fit each side again, for a density that is no kernel density.

    They belong in one part, so that all have the same number of permutations.
    """
    return {
        "R-Div": RDivergence(model),
        "H-Div": HDivergence(model),
        "cross-risk": CrossRisk(model),
    }


def refits(model: Model) -> dict[str, Any]:
    """H-Div of a network: two trainings from fresh weights for each permutation."""
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


def once(
    tests: Mapping[str, Any],
    sources: Mapping[str, Any],
    sizes: tuple[int, ...],
    trials: int,
    seconds: float,
    *,
    name: str = "one-fit",
    cell: str = "{n}",
    alphas: tuple[float, ...] = (0.05,),
) -> Part:
    """Tests that fit once, or only compare rows."""
    return Part(name, tests, sources, sizes, trials, seconds=seconds, cell=cell, alphas=alphas)


def learner_parts(
    sources: Mapping[str, Any],
    sizes: tuple[int, ...],
    trials: int,
    repeats: int,
    seconds: float,
    tests: Mapping[str, Any] | None = None,
    *,
    cell: str = "{n}",
    alphas: tuple[float, ...] = (0.05,),
    fresh_sizes: tuple[int, ...] = (),
) -> tuple[Part, Part]:
    """Tests that learn: in every draw on its half, and once a repeat on a draw of their own.

    `trials` is for the first; `repeats` trainings share as many trials in the second. The second
    tests all the rows that it draws, so it may draw `fresh_sizes` instead: half as many.
    """
    chosen = learners() if tests is None else tests
    half = Part(
        "learners-half", chosen, sources, sizes, trials, seconds=seconds, cell=cell, alphas=alphas
    )
    fresh = replace(
        half, name="learners-fresh", trials=trials // repeats, repeats=repeats, train="fresh",
        seconds=seconds / 3, sizes=fresh_sizes or sizes,
    )  # fmt: skip
    return half, fresh


def network_parts(
    model: Model,
    sources: Mapping[str, Any],
    sizes: tuple[int, ...],
    trials: int,
    seconds: float,
    *,
    permutations: int = 19,
    name: str = "",
    refitted: Mapping[str, Any] | None = None,
    cell: str = "{n}",
) -> tuple[Part, ...]:
    """Tests of one network: those that fit it once, and H-Div, which trains two a permutation.

    `seconds` is about what one training on the pool takes; H-Div stops once its decision is
    certain. `refitted` are the sources of H-Div, where those are fewer. Where H-Div has fewer
    permutations than the rest, R-Div is measured with as few on the same draws: fewer cost power,
    so only equal numbers are compared.
    """
    front = f"{name}-" if name else ""
    fit = Part(
        f"{front}one-fit", model_tests(model), sources, sizes, trials, seconds=seconds, cell=cell
    )
    refit = replace(
        fit, name=f"{front}refits", tests=refits(model), sources=refitted or sources,
        n_resamples=permutations, seconds=seconds * (1 + permutations / 2),
    )  # fmt: skip
    if permutations == fit.n_resamples:
        return fit, refit
    alike = replace(
        fit, name=f"{front}one-fit-{permutations}", tests={"R-Div": RDivergence(model)},
        sources=refit.sources, n_resamples=permutations,
    )  # fmt: skip
    return fit, alike, refit
