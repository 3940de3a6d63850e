"""Colored-MNIST: digits whose colour betrays the label."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rdiv.sources.images import disjoint, overlap
from rdiv.sources.mnist import REAL, read_digits
from rdiv.sources.protocol import q_rows
from rdiv.spelling import chosen_from

__all__ = ["ColoredMnist"]

Sample = tuple[NDArray[np.uint8], NDArray[np.int64]]

P_COLOURS = ("none", "random")


@dataclass(frozen=True)
class ColoredMnist:
    """Plain digits (p) and digits coloured by their label (q), as Arjovsky et al. (2019) do.

    Images have 14 x 14 pixels and two channels, red and green. The label is 1 for digits below 5
    and 0 for the others, and is then flipped with probability `label_noise`. A digit of q has the
    colour of its label, flipped with probability `colour_noise`: it lies in one channel and the
    other is black. A digit of p lies in both. Under the null both samples are like p. All digits
    of a draw differ.

    Parameters
    ----------
    p_colour : {"none", "random"}
        ``"none"`` leaves p plain. ``"random"`` colours it without regard to the label, and the
        null too, so that p and q differ in the correlation alone.
    colour_noise : float
        Probability that a colour does not fit its label: 0.1 and 0.2 in the two training
        environments of the original, 0.9 in its test environment.
    label_noise : float
        Probability that a label is wrong, in p and in q.
    ratio : float
        Rows of q per row of p.
    data_dir : path, optional
        Folder of the prepared file; by default ``RDIV_DATA``, then the cache.

    Examples
    --------
    >>> print(ColoredMnist(colour_noise=0.2))
    ColoredMnist(p_colour='none', colour_noise=0.2, label_noise=0.25, ratio=1.0)
    """

    p_colour: str = "none"
    colour_noise: float = 0.1
    label_noise: float = 0.25
    ratio: float = 1.0
    data_dir: Path | None = field(default=None, repr=False, compare=False)
    rows: tuple[NDArray[np.uint8], NDArray[np.uint8]] | None = field(
        default=None, repr=False, compare=False
    )

    model = "mlp"

    def __post_init__(self) -> None:
        chosen_from(dict.fromkeys(P_COLOURS), self.p_colour, "p_colour")
        for name in ("colour_noise", "label_noise"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(
                    f"{name} must be a probability, got {getattr(self, name)!r}; choose a number "
                    "from 0 to 1."
                )

    def caveat(self, n: int) -> str | None:
        """What to know about draws of this size."""
        return overlap((n + q_rows(n, self.ratio), REAL, "digits"))

    def loaded(self) -> ColoredMnist:
        """The same source with its digits in memory."""
        return self if self.rows is not None else replace(self, rows=self._read())

    def draw(self, n: int, rng: np.random.Generator, null: bool = False) -> tuple[Sample, Sample]:
        """Draw a pair of samples, each images ``(n, 2, 14, 14)`` and labels ``(n,)``."""
        digits, labels = self.rows or self._read()
        there = f"colored-mnist has {len(digits)} digits"
        rows = disjoint(len(digits), n, q_rows(n, self.ratio), rng, there)
        p, q = ((digits[part], labels[part]) for part in rows)
        return self._sample(*p, rng, like_p=True), self._sample(*q, rng, like_p=null)

    def _sample(
        self,
        digits: NDArray[np.uint8],
        labels: NDArray[np.uint8],
        rng: np.random.Generator,
        *,
        like_p: bool,
    ) -> Sample:
        n = len(digits)
        y = (labels < 5) ^ (rng.random(n) < self.label_noise)
        x = np.repeat(digits[:, None], 2, axis=1)
        if like_p and self.p_colour == "none":
            return x, y.astype(np.int64)
        colour = rng.random(n) < 0.5 if like_p else y ^ (rng.random(n) < self.colour_noise)
        x[np.arange(n), 1 - colour.astype(int)] = 0
        return x, y.astype(np.int64)

    def _read(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        digits, labels = read_digits(self.data_dir)
        return np.ascontiguousarray(digits[:, ::2, ::2]), labels
