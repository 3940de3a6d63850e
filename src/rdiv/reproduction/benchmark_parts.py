"""The studies that tables consist of: tests of one fit, tests that learn, tests that refit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rdiv.models.protocol import Model
from rdiv.reproduction.methods import learners, model_tests, refits
from rdiv.reproduction.power_table import Part

__all__ = ["learner_parts", "network_parts", "once"]


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
) -> tuple[Part, Part]:
    """Tests that learn: in every draw on its half, and once a repeat on a draw of their own.

    `trials` is for the first; `repeats` trainings share as many trials in the second.
    """
    chosen = learners() if tests is None else tests
    half = Part(
        "learners-half", chosen, sources, sizes, trials, seconds=seconds, cell=cell, alphas=alphas
    )
    fresh = replace(
        half, name="learners-fresh", trials=trials // repeats, repeats=repeats, train="fresh",
        seconds=seconds / 3,
    )  # fmt: skip
    return half, fresh


def network_parts(
    model: Model,
    sources: Mapping[str, Any],
    sizes: tuple[int, ...],
    trials: int,
    seconds: float,
    *,
    relabellings: int = 19,
    name: str = "",
    refitted: Mapping[str, Any] | None = None,
    cell: str = "{n}",
) -> tuple[Part, Part]:
    """Tests of one network: those that fit it once, and H-Div, which trains two a relabelling.

    `seconds` is about what one training on the pool takes; H-Div stops once its decision is
    certain. `refitted` are the sources of H-Div, where those are fewer.
    """
    front = f"{name}-" if name else ""
    fit = Part(
        f"{front}one-fit", model_tests(model), sources, sizes, trials, seconds=seconds, cell=cell
    )
    refit = replace(
        fit, name=f"{front}refits", tests=refits(model), sources=refitted or sources,
        n_resamples=relabellings, seconds=seconds * (1 + relabellings / 2),
    )  # fmt: skip
    return fit, refit
