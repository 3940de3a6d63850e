"""How strong corruptions of images are: the constants of the published benchmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["CONSTANTS", "Snowfall"]


@dataclass(frozen=True)
class Snowfall:
    """Settings of one severity of snow.

    Parameters
    ----------
    mean, spread : float
        Of the normal field that flakes are cut from.
    zoom : float
        How much larger than a pixel its grains are.
    threshold : float
        What is below it in the field is no flake.
    radius, blur : int, float
        Reach and standard deviation of the streak that a flake leaves, in pixels.
    kept : float
        Share of the image that is not whitened.
    """

    mean: float
    spread: float
    zoom: float
    threshold: float
    radius: int
    blur: float
    kept: float


def _snowfalls(kept: tuple[float, ...]) -> tuple[Snowfall, ...]:
    """The five severities; the two benchmarks differ in the share of the image that is kept."""
    fields = (
        (0.1, 0.2, 1, 0.6, 8, 3),
        (0.1, 0.2, 1, 0.5, 10, 4),
        (0.15, 0.3, 1.75, 0.55, 10, 4),
        (0.25, 0.3, 2.25, 0.6, 12, 6),
        (0.3, 0.3, 1.25, 0.65, 14, 12),
    )
    return tuple(Snowfall(*field, share) for field, share in zip(fields, kept, strict=True))


CONSTANTS: dict[str, dict[str, tuple[Any, ...]]] = {
    "cifar10": {
        "gauss": (0.04, 0.06, 0.08, 0.09, 0.10),
        "snow": _snowfalls((0.95, 0.9, 0.9, 0.85, 0.8)),
        "speckle": (0.06, 0.10, 0.12, 0.16, 0.20),
        "impulse": (0.01, 0.02, 0.03, 0.05, 0.07),
    },
    "imagenet": {
        "gauss": (0.04, 0.08, 0.12, 0.15, 0.18),
        "snow": _snowfalls((0.8, 0.8, 0.7, 0.65, 0.6)),
        "speckle": (0.15, 0.20, 0.25, 0.30, 0.35),
        "impulse": (0.01, 0.02, 0.05, 0.08, 0.14),
    },
}
"""Constants of CIFAR-10-C and of the 64 x 64 form of ImageNet-C, severities 1 to 5.

From the scripts of Hendrycks and Dietterich (2019), github.com/hendrycks/robustness.
"""
