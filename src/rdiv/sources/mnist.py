"""MNIST: handwritten digits against digits that a network drew."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rdiv.sources.data_files import data_file
from rdiv.sources.images import check_size, disjoint, noted, overlap, resized
from rdiv.sources.protocol import q_rows

__all__ = ["Mnist", "read_digits"]

Bytes = NDArray[np.uint8]

REAL, FAKE = 70_000, 10_000
STAND_IN = "the digits of q stand in for the file of the literature, which is lost"


@dataclass(frozen=True)
class Mnist:
    """Real digits (p) and digits of a generative network (q), without labels.

    Under the null both samples are real, on disjoint rows.

    Parameters
    ----------
    size : int
        Pixels of a side. The files have 28, the literature enlarges them to 32; both samples are
        resized alike.
    ratio : float
        Rows of q per row of p.
    data_dir : path, optional
        Folder of the prepared files; by default ``RDIV_DATA``, then the cache.

    Notes
    -----
    The file of generated digits that the literature uses is lost. Ours were drawn by another
    network of the same kind, a DCGAN trained on MNIST, so numbers are not comparable one by one.

    Examples
    --------
    >>> print(Mnist().caveat(200))
    the digits of q stand in for the file of the literature, which is lost
    """

    size: int = 32
    ratio: float = 1.0
    data_dir: Path | None = field(default=None, repr=False, compare=False)
    rows: tuple[Bytes, Bytes] | None = field(default=None, repr=False, compare=False)

    model = "vae"

    def __post_init__(self) -> None:
        check_size(self.size)

    def caveat(self, n: int) -> str | None:
        """What to know about draws of this size."""
        m = q_rows(n, self.ratio)
        return noted(STAND_IN, overlap((m, FAKE, "generated digits"), (n + m, REAL, "digits")))

    def loaded(self) -> Mnist:
        """The same source with its digits in memory."""
        return self if self.rows is not None else replace(self, rows=self._read())

    def draw(self, n: int, rng: np.random.Generator, null: bool = False) -> tuple[Bytes, Bytes]:
        """Draw a pair of samples, ``(n, 1, size, size)`` bytes each, without replacement."""
        real, fake = self.rows or self._read()
        m = q_rows(n, self.ratio)
        if null:
            rows_p, rows_q = disjoint(len(real), n, m, rng, f"mnist has {len(real)} real digits")
            return self._images(real[rows_p]), self._images(real[rows_q])
        if n > len(real) or m > len(fake):
            raise ValueError(
                f"mnist has {len(real)} real and {len(fake)} generated digits, got a draw of "
                f"{n} + {m}; ask for fewer."
            )
        chosen = real[rng.permutation(len(real))[:n]], fake[rng.permutation(len(fake))[:m]]
        return self._images(chosen[0]), self._images(chosen[1])

    def _images(self, digits: Bytes) -> Bytes:
        return resized(digits[:, None], self.size)

    def _read(self) -> tuple[Bytes, Bytes]:
        with np.load(data_file("fake-mnist", self.data_dir), allow_pickle=False) as data:
            fake = data["x"]
        return read_digits(self.data_dir)[0], fake


def read_digits(folder: Path | None) -> tuple[Bytes, Bytes]:
    """All 70000 digits of MNIST, ``(n, 28, 28)``, and what they are."""
    with np.load(data_file("mnist", folder), allow_pickle=False) as data:
        images = np.concatenate([data["x_train"], data["x_test"]])
        labels = np.concatenate([data["y_train"], data["y_test"]])
    return images, labels
