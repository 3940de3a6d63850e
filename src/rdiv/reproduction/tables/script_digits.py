"""Digits as the published MNIST script prepares them, and two controls that differ in one thing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.models import Training, Vae
from rdiv.sources import Mnist
from rdiv.sources.images import resized

__all__ = ["PAIRS", "SCRIPT", "Pair", "ScriptDigits", "nearest", "script_vae"]

Bytes = NDArray[np.uint8]
Pair = Literal["script", "alike", "real", "null"]

PAIRS: dict[Pair, str] = {
    "script": "as the script: real digits enlarged by nearest neighbour, the GAN's smoothly",
    "alike": "both alike: real and GAN digits enlarged by nearest neighbour",
    "real": "real against real: one side by nearest neighbour, the other smoothly",
    "null": "nothing differs: real against real, both by nearest neighbour",
}


def script_vae(epochs: int = 500) -> Vae:
    """The autoencoder with the script's settings: rate 5e-3, batches of 100, a sampled code."""
    return Vae(samples=1, training=Training(epochs=epochs, batch_size=100, learning_rate=5e-3))


SCRIPT = script_vae()


def nearest(images: Bytes, size: int) -> Bytes:
    """Square images enlarged by repeating pixels, as ``interpolate`` of torch does by default.

    Examples
    --------
    >>> print(nearest(np.uint8([[[[1, 2], [3, 4]]]]), 3)[0, 0].tolist())
    [[1, 1, 2], [1, 1, 2], [3, 3, 4]]
    """
    at = np.arange(size) * images.shape[-1] // size
    return np.ascontiguousarray(images[..., at[:, None], at])


@dataclass(frozen=True)
class ScriptDigits:
    """Pairs of digits that differ in how they were enlarged, in who drew them, in both or neither.

    Parameters
    ----------
    pair : {"script", "alike", "real", "null"}
        See `PAIRS`.
    size : int
        Pixels of a side.
    data_dir : path, optional

    Notes
    -----
    The script's GAN draws 32 x 32 pixels; the stand-in draws 28 x 28, which are enlarged smoothly
    in its place.
    """

    pair: Pair = "script"
    size: int = 32
    data_dir: Path | None = field(default=None, repr=False, compare=False)
    digits: Any = field(default=None, repr=False, compare=False)

    def loaded(self) -> ScriptDigits:
        """The same source with its digits in memory."""
        if self.digits is not None:
            return self
        return replace(self, digits=Mnist(size=28, data_dir=self.data_dir).loaded())

    def draw(self, n: int, rng: np.random.Generator, null: bool = False) -> tuple[Bytes, Bytes]:
        """Draw a pair of samples, ``(n, 1, size, size)`` bytes each."""
        pair = "null" if null else self.pair
        p, q = self.loaded().digits.draw(n, rng, null=pair in ("real", "null"))
        enlarge = nearest if pair in ("alike", "null") else resized
        return nearest(p, self.size), enlarge(q, self.size)
