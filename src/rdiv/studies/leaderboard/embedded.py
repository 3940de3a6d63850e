"""Images as a table: what a fixed random network makes of MNIST and CIFAR-10."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.names import chosen_from
from rdiv.sources.corrupted_images import read_cifar10
from rdiv.sources.data_files import data_file
from rdiv.sources.mnist import read_digits
from rdiv.sources.protocol import q_rows

__all__ = ["IMAGE_CHANGES", "Embedded", "embed"]

IMAGE_CHANGES = {
    "generated": "a share of the digits was drawn by a network (MNIST only)",
    "class": "a share of one class is missing",
    "noise": "noise on every pixel, in parts of the range",
    "darker": "a share of the images is darker by half",
}
"""What is planted in the images of q, by its name; with an amount."""

FILTERS, SIDE, STRIDE, COLUMNS = 24, 5, 3, 32
_WEIGHTS = 20_231  # the seed of the network; nothing is trained
_LOST_CLASS = 3


@dataclass(frozen=True)
class Embedded:
    """Images as rows of 32 numbers (p), and other images with one change (q).

    Under the null q has no change. All images of a draw are different.

    Parameters
    ----------
    images : {"mnist", "cifar10"}
    change : str
        A name in `IMAGE_CHANGES`.
    amount : float
    ratio : float
        Rows of q per row of p.
    data_dir : path, optional
        Folder of the data files; by default ``RDIV_DATA``, then the cache.

    Examples
    --------
    >>> print(Embedded("mnist", "class", 0.5))
    Embedded(images='mnist', change='class', amount=0.5, ratio=1.0)
    """

    images: str
    change: str
    amount: float
    ratio: float = 1.0
    data_dir: Path | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        chosen_from({"mnist": 0, "cifar10": 1}, self.images, "set of images")
        chosen_from(IMAGE_CHANGES, self.change, "change")
        if self.change == "generated" and self.images != "mnist":
            raise InputError(f"only mnist has generated images, got {self.images}.")

    def draw(
        self, n: int, rng: np.random.Generator, null: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw two samples of embedded images, ``(n, 32)`` and ``(ratio n, 32)``."""
        x, y = _read(self.images, self.data_dir)
        m, order = q_rows(n, self.ratio), rng.permutation(len(x))
        p, rest = x[order[:n]], order[n:]
        if self.change == "class" and not null:
            kept = (y[rest] != _LOST_CLASS) | (rng.random(len(rest)) >= self.amount)
            rest = rest[kept]
        q = x[rest[:m]]
        return embed(p), embed(q if null else self._changed(q, rng))

    def _changed(
        self, q: NDArray[np.uint8], rng: np.random.Generator
    ) -> NDArray[np.uint8] | NDArray[np.float64]:
        hit = rng.random(len(q)) < self.amount
        if self.change == "generated":
            fake = _read_fake(self.data_dir)
            drawn = fake[rng.permutation(len(fake))[: len(q)]]
            return np.where(hit[:, None, None, None], drawn, q)
        if self.change == "darker":
            return np.where(hit[:, None, None, None], q // 2, q)
        if self.change == "noise":
            return np.clip(q + 255 * self.amount * rng.normal(size=q.shape), 0, 255)
        return q


def embed(images: NDArray[np.uint8] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Images ``(n, c, h, w)`` in 0 to 255 as ``(n, 32)`` numbers, by a network of fixed weights.

    One layer of random filters, rectified and averaged over quarters, and a random projection.

    Examples
    --------
    >>> print(embed(np.zeros((2, 1, 28, 28))).shape)
    (2, 32)
    """
    n, channels = images.shape[:2]
    rng = np.random.default_rng([_WEIGHTS, channels])
    filters = rng.normal(size=(channels * SIDE * SIDE, FILTERS)) / SIDE
    filters -= filters.mean(axis=0)
    bias = rng.normal(scale=0.1, size=FILTERS)
    pixels: NDArray[np.float64] = np.asarray(images, np.float64)
    seen = np.lib.stride_tricks.sliding_window_view(pixels, (SIDE, SIDE), axis=(2, 3))
    patches = seen[:, :, ::STRIDE, ::STRIDE].transpose(0, 2, 3, 1, 4, 5)
    places = patches.shape[1:3]
    found = patches.reshape(n, *places, -1) / 255 @ filters + bias
    active = np.maximum(found, 0.0)
    half = (places[0] // 2, places[1] // 2)
    quarters = [
        active[:, rows, columns].mean(axis=(1, 2))
        for rows in (slice(half[0]), slice(half[0], None))
        for columns in (slice(half[1]), slice(half[1], None))
    ]
    features = np.concatenate(quarters, axis=1)
    mixed: NDArray[np.float64] = features @ rng.normal(size=(features.shape[1], COLUMNS))
    return mixed


@lru_cache(maxsize=2)
def _read(images: str, folder: Path | None) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    if images == "cifar10":
        return read_cifar10(("train", "test"), folder)
    digits, labels = read_digits(folder)
    return digits[:, None], labels.astype(np.int64)


@lru_cache(maxsize=1)
def _read_fake(folder: Path | None) -> NDArray[np.uint8]:
    with np.load(data_file("fake-mnist", folder), allow_pickle=False) as file:
        drawn: NDArray[np.uint8] = file["x"][:, None]
    return drawn
