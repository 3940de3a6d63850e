"""CIFAR-10 and ImageNet against themselves with some images corrupted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rdiv.sources.corruptions import check_corruption, partly_corrupted
from rdiv.sources.data_files import data_file
from rdiv.sources.images import channels_first, check_size, disjoint, noted, overlap, resized
from rdiv.sources.protocol import q_rows

__all__ = ["CorruptedCifar10", "CorruptedImagenet", "read_cifar10"]


Sample = tuple[NDArray[np.uint8], NDArray[np.int64]]

CIFAR10 = 15_000


@dataclass(frozen=True)
class CorruptedCifar10:
    """CIFAR-10 (p), and CIFAR-10 with some images corrupted (q); the target is the class.

    Every image of q is corrupted with probability `fraction`, by itself, so that rows stay
    independent. Under the null both samples are clean. All images of a draw differ.

    Parameters
    ----------
    kind : {"gauss", "snow", "speckle", "impulse"}
    severity : {1, 2, 3, 4, 5}
        Which of the constants of CIFAR-10-C; see `rdiv.sources.corruptions.corrupt`.
    fraction : float
        Share of corrupted images in q. The paper's percentages are read as this share.
    size : int
        Pixels of a side, 32 in the file; images are resized first and corrupted then.
    ratio : float
        Rows of q per row of p.
    data_dir : path, optional
        Folder of the prepared file; by default ``RDIV_DATA``, then the cache.
    rows : optional
        Images (with labels, where the file has them) in place of the file.

    Examples
    --------
    >>> print(CorruptedCifar10(kind="snow", fraction=0.01))
    CorruptedCifar10(kind='snow', severity=5, fraction=0.01, size=32, ratio=1.0)
    """

    about = "photographs, a share of them corrupted in q"
    holds = "3 x 32 x 32, 10 classes"
    under_null = "both clean"

    kind: str = "gauss"
    severity: int = 5
    fraction: float = 0.05
    size: int = 32
    ratio: float = 1.0
    data_dir: Path | None = field(default=None, repr=False, compare=False)
    rows: Sample | None = field(default=None, repr=False, compare=False)

    model = "resnet18"

    def __post_init__(self) -> None:
        check_corruption(self.kind, self.severity, self.fraction)
        check_size(self.size)

    def caveat(self, n: int) -> str | None:
        """What to know about draws of this size."""
        return overlap((n + q_rows(n, self.ratio), CIFAR10, "images"))

    def loaded(self) -> CorruptedCifar10:
        """The same source with its images in memory."""
        return self if self.rows is not None else replace(self, rows=self._read())

    def draw(self, n: int, rng: np.random.Generator, null: bool = False) -> tuple[Sample, Sample]:
        """Draw a pair of samples, each images ``(n, 3, size, size)`` and classes ``(n,)``."""
        x, y = self.rows or self._read()
        there = f"cifar10-corrupted has {len(x)} images"
        rows_p, rows_q = disjoint(len(x), n, q_rows(n, self.ratio), rng, there)
        p, q = resized(x[rows_p], self.size), resized(x[rows_q], self.size)
        if not null:
            q = partly_corrupted(
                q, self.kind, rng,
                fraction=self.fraction, severity=self.severity, constants="cifar10",
            )  # fmt: skip
        return (p, y[rows_p]), (q, y[rows_q])

    def _read(self) -> Sample:
        return read_cifar10(("train", "test"), self.data_dir)


def read_cifar10(parts: Sequence[str], folder: Path | None) -> Sample:
    """Images ``(n, 3, 32, 32)`` and classes of some parts of the data file, in that order."""
    with np.load(data_file("cifar10", folder), allow_pickle=False) as data:
        x = np.concatenate([data[f"x_{part}"] for part in parts])
        y = np.concatenate([data[f"y_{part}"] for part in parts])
    return channels_first(x), y.astype(np.int64)


Bytes = NDArray[np.uint8]

IMAGENET = 1000
ROTATION = "the target is the rotation of an image, because the file has one image of each class"


@dataclass(frozen=True)
class CorruptedImagenet:
    """ImageNet (p), and ImageNet with some images corrupted (q); the target is a rotation.

    The file has one image of each of the 1000 classes, so classes cannot be learned. In their
    place every image is turned by 0, 90, 180 or 270 degrees at random, and the target is which.
    Every image of q is corrupted with probability `fraction`, by itself, before it is turned. Under
    the null both samples are clean. All images of a draw differ, so at most 500 fit on each side.

    Parameters
    ----------
    kind : {"gauss", "snow", "speckle", "impulse"}
    severity : {1, 2, 3, 4, 5}
        Which of the constants of ImageNet-C at 64 x 64; see `rdiv.sources.corruptions.corrupt`.
    fraction : float
        Share of corrupted images in q. The paper's percentages are read as this share.
    size : int
        Pixels of a side, 64 in the file; images are resized first and corrupted then.
    ratio : float
        Rows of q per row of p.
    data_dir : path, optional
        Folder of the prepared file; by default ``RDIV_DATA``, then the cache.
    rows : optional
        Images (with labels, where the file has them) in place of the file.

    Examples
    --------
    >>> print(CorruptedImagenet().caveat(50))
    the target is the rotation of an image, because the file has one image of each class
    """

    about = "photographs, turned, a share of them corrupted in q"
    holds = "3 x 64 x 64, 4 rotations"
    under_null = "both clean"

    kind: str = "gauss"
    severity: int = 5
    fraction: float = 0.05
    size: int = 64
    ratio: float = 1.0
    data_dir: Path | None = field(default=None, repr=False, compare=False)
    rows: Bytes | None = field(default=None, repr=False, compare=False)

    model = "resnet18"

    def __post_init__(self) -> None:
        check_corruption(self.kind, self.severity, self.fraction)
        check_size(self.size)

    def caveat(self, n: int) -> str | None:
        """What to know about draws of this size."""
        return noted(ROTATION, overlap((n + q_rows(n, self.ratio), IMAGENET, "images")))

    def loaded(self) -> CorruptedImagenet:
        """The same source with its images in memory."""
        return self if self.rows is not None else replace(self, rows=self._read())

    def draw(self, n: int, rng: np.random.Generator, null: bool = False) -> tuple[Sample, Sample]:
        """Draw a pair of samples, each images ``(n, 3, size, size)`` and quarter turns ``(n,)``."""
        x = self._read() if self.rows is None else self.rows
        there = f"imagenet-corrupted has {len(x)} images"
        rows_p, rows_q = disjoint(len(x), n, q_rows(n, self.ratio), rng, there)
        p, q = resized(x[rows_p], self.size), resized(x[rows_q], self.size)
        if not null:
            q = partly_corrupted(
                q, self.kind, rng,
                fraction=self.fraction, severity=self.severity, constants="imagenet",
            )  # fmt: skip
        return _turned(p, rng), _turned(q, rng)

    def _read(self) -> Bytes:
        with np.load(data_file("imagenet", self.data_dir), allow_pickle=False) as data:
            return channels_first(data["x"])


def _turned(images: Bytes, rng: np.random.Generator) -> Sample:
    """Images turned by 0 to 3 quarters against the clock, and by how many each was."""
    quarters = rng.integers(4, size=len(images))
    turned = images.copy()
    for quarter in (1, 2, 3):
        some = quarters == quarter
        turned[some] = np.rot90(images[some], quarter, axes=(2, 3))
    return turned, quarters.astype(np.int64)
