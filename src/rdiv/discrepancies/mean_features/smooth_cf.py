"""SCF: smoothed characteristic functions of the two samples, compared at a few frequencies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.mean_features.ascent import place
from rdiv.discrepancies.mean_features.features import (
    FeatureMeans,
    PlacedFeatures,
    Pullback,
    check_settings,
    fit_scaling,
)
from rdiv.inference.prepared import Prepared
from rdiv.samples.pool import Pool, require_finite

__all__ = ["SmoothCharacteristicFunction", "windowed_waves"]

Floats = NDArray[np.float64]

PITCHES = 2.0 ** np.arange(0, 5)  # typical size of the starting frequencies, per median distance
WIDTHS = (0.5, 1.0, 2.0)  # where the width of the window starts, in median distances
TRIES = 10  # random sets of frequencies, of which the best one starts the ascent


@dataclass(frozen=True)
class SmoothCharacteristicFunction:
    """Smoothed characteristic functions at a few frequencies (Chwialkowski et al. 2015).

    The means of ``w(x) sin(f'x)`` and ``w(x) cos(f'x)``, with a Gaussian window w around the middle
    of the data, are compared between p and q for each frequency f. Frequencies and the width of
    the window are chosen to separate the samples on one half of each (Jitkrittum et al. 2016); the
    other half is tested. It sees differences that repeat all over the data, while `me` sees local
    ones.

    Parameters
    ----------
    n_frequencies : int
        Each gives two features, a sine and a cosine.
    optimize : bool, default True
        False draws the frequencies at random, for inputs in units of their median distance. This
        uses no labels, so all rows are tested, but it is far less powerful.
    normalized : bool, default True
        Rank Hotelling's statistic of the gaps between the means. False ranks the root mean square
        of the gaps; the frequencies are the same.
    regularization : float
        Added to the variance of every feature; features lie between -1 and 1.

    Notes
    -----
    The window, ``exp(-|x|^2 / (2 width^2))``, is the Fourier transform of the kernel that smooths
    the characteristic function. The literature divides the inputs by the width and leaves the
    window at 1; here frequency and width are separate parameters of the same family. The paper's
    formula subtracts the features of p from themselves; this is a misprint for those of q. The
    statistic is that of `MeanEmbedding`, with ``2 n_frequencies`` features, and the ascent is
    stopped in the same way.

    Examples
    --------
    >>> from rdiv import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(100, 2)), rng.normal(size=(80, 2)) * [1.0, 2.0]
    >>> print(two_sample_test(p, q, "scf", rng=1).rejected)
    True
    """

    compares = "smoothed characteristic functions at a few frequencies, by Hotelling's statistic"
    takes = "none"
    learning = "frequencies and window, on one half; `optimize=False`: no"
    cost = "an ascent over few parameters; then linear in rows"
    sees = "differences that repeat over the data"
    citation = "Chwialkowski et al. 2015; Jitkrittum et al. 2016"
    directed = False

    n_frequencies: int = 5
    optimize: bool = True
    normalized: bool = True
    regularization: float = 1e-5

    task = "density"

    def __post_init__(self) -> None:
        check_settings(self, count="n_frequencies")

    @property
    def learns(self) -> bool:
        """Whether the frequencies are learned with labels on one half."""
        return self.optimize

    def learn(self, pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator) -> FeatureMeans:
        """Choose frequencies and window that separate the samples of this half."""
        features, notes = place(
            pool,
            is_p,
            rng,
            evaluate=windowed_waves,
            starts=self._starts,
            regularization=self.regularization,
            who="scf",
        )
        return self._settled(features, notes)

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Test at random frequencies, blind to the labels."""
        x = pool.matrix()
        require_finite(x, who="scf")
        frequencies = rng.normal(size=(self.n_frequencies, x.shape[1]))
        features = PlacedFeatures(windowed_waves, fit_scaling(x, rng), frequencies, 1.0)
        return self._settled(features, {}).prepare(pool, rng)

    def _starts(self, z: Floats, rng: np.random.Generator) -> Iterator[list[tuple[Floats, float]]]:
        """Random directions, with a range of frequencies and windows."""
        sets = [rng.normal(size=(self.n_frequencies, z.shape[1])) for _ in range(TRIES)]
        for pitch in PITCHES:
            yield [(pitch * drawn, width) for width in WIDTHS for drawn in sets]

    def _settled(self, features: PlacedFeatures, notes: dict[str, Any]) -> FeatureMeans:
        return FeatureMeans(
            features,
            normalized=self.normalized,
            regularization=self.regularization,
            who="scf",
            notes={**notes, "window width": features.width * features.scaling.scale},
        )


def windowed_waves(z: Floats, frequencies: Floats, width: float) -> tuple[Floats, Pullback]:
    """Sines, then cosines, of rows under a Gaussian window, ``(n, 2 J)``, and their pullback.

    Examples
    --------
    >>> print(windowed_waves(np.array([[1.0]]), np.array([[np.pi]]), 1.0)[0].round(3))
    [[ 0.    -0.607]]
    """
    squares = np.einsum("ij,ij->i", z, z)[:, None] / width**2
    window, phases = np.exp(-squares / 2), z @ frequencies.T
    sines, cosines = window * np.sin(phases), window * np.cos(phases)
    features = np.concatenate([sines, cosines], axis=1)

    def pullback(per_row: Floats, per_feature: Floats) -> tuple[Floats, float]:
        of_sines, of_cosines = np.split(per_feature, 2)
        turned = per_row[:, None] * (of_sines * cosines - of_cosines * sines)
        widened = per_row * squares[:, 0] * (features @ per_feature)
        return turned.T @ z, float(widened.sum())

    return features, pullback
