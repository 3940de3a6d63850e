"""MNIST: handwritten digits against digits that a network drew, and Colored-MNIST."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.names import chosen_from
from rdiv.sources.data_files import data_file
from rdiv.sources.images import check_size, disjoint, noted, overlap, resized
from rdiv.sources.protocol import q_rows

__all__ = ["ColoredMnist", "Mnist", "read_digits"]


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
    rows : pair of arrays, optional
        Images of p and of q, in place of the file.

    Notes
    -----
    The file of generated digits that the literature uses is lost. Ours were drawn by another
    network of the same kind, a DCGAN trained on MNIST, so numbers are not comparable one by one.

    Examples
    --------
    >>> print(Mnist().caveat(200))
    the digits of q stand in for the file of the literature, which is lost
    """

    about = "digits by hand in p, by a network in q"
    holds = "1 x 32 x 32"
    under_null = "disjoint real digits"

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
            raise InputError(
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
    rows : pair of arrays, optional
        Images of p and of q, in place of the file.

    Examples
    --------
    >>> print(ColoredMnist(colour_noise=0.2))
    ColoredMnist(p_colour='none', colour_noise=0.2, label_noise=0.25, ratio=1.0)
    """

    about = "plain digits in p, digits in a colour that goes with the label in q"
    holds = "2 x 14 x 14, 2 classes"
    under_null = "both like p"

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
                raise InputError(
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
