"""Features around places: smooth functions of a row, with places and a width to be settled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Evaluate", "PlacedFeatures", "Pullback", "Scaling", "fit_scaling"]

Floats = NDArray[np.float64]
Pullback = Callable[[Floats, Floats], tuple[Floats, float]]
"""From a gradient in features, ``per_row[i] * per_feature[j]``, to that in places and log width."""
Evaluate = Callable[[Floats, Floats, float], tuple[Floats, Pullback]]
"""From scaled inputs ``(n, d)``, places ``(J, d)`` and a width to features and their pullback."""

_PAIRS = 2000  # random pairs of rows behind a median distance
_FAR = 1e6  # in median distances; features are flat long before


@dataclass(frozen=True, eq=False)
class Scaling:
    """Inputs centred and divided by one number: columns keep their relative sizes.

    Parameters
    ----------
    centre : (d,) array
    scale : float

    Examples
    --------
    >>> print(Scaling(np.array([1.0]), 2.0)(np.array([[1.0], [5.0]])).tolist())
    [[0.0], [2.0]]
    """

    centre: Floats
    scale: float

    def __call__(self, x: Floats) -> Floats:
        """Scaled inputs; rows further out than any feature reaches are brought to the edge."""
        return np.clip((x - self.centre) / self.scale, -_FAR, _FAR)


def fit_scaling(x: Floats, rng: np.random.Generator) -> Scaling:
    """Centre at the median of each column; the unit is the median distance between rows.

    Examples
    --------
    >>> scaling = fit_scaling(np.array([[0.0], [3.0]]), np.random.default_rng(0))
    >>> print(scaling.centre, scaling.scale)
    [1.5] 3.0
    """
    centre = np.median(x, axis=0)
    one = rng.integers(len(x), size=_PAIRS)
    other = (one + rng.integers(1, max(len(x), 2), size=_PAIRS)) % len(x)
    unit = float(np.abs(x - centre).max()) or 1.0  # squares of what is left cannot overflow
    distances = np.linalg.norm(x[one] / unit - x[other] / unit, axis=1)
    typical = float(np.median(distances)) or float(distances.mean()) or 1.0
    return Scaling(centre, unit * typical)


@dataclass(frozen=True, eq=False)
class PlacedFeatures:
    """Features of rows, with their places and width settled.

    Parameters
    ----------
    evaluate : Evaluate
    scaling : Scaling
        Places and width are in scaled units.
    places : (J, d) array
        Locations or frequencies.
    width : float
    """

    evaluate: Evaluate
    scaling: Scaling
    places: Floats
    width: float

    def __call__(self, x: Floats) -> Floats:
        """Features ``(n, m)`` of inputs ``(n, d)``."""
        return self.evaluate(self.scaling(x), self.places, self.width)[0]
