"""PACS: the same seven things as photos, paintings, cartoons and sketches."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.names import chosen_from
from rdiv.sources.data_files import data_file
from rdiv.sources.images import channels_first, check_size, disjoint, overlap, resized
from rdiv.sources.protocol import q_rows

__all__ = ["DOMAINS", "Pacs"]

Sample = tuple[NDArray[np.uint8], NDArray[np.int64]]

DOMAINS = {"photo": 1670, "art_painting": 2048, "cartoon": 2344, "sketch": 3929}
"""Domains and how many images the file has of each."""


@dataclass(frozen=True)
class Pacs:
    """Images of two domains of PACS (Li et al. 2017); the target is one of seven classes.

    Under the null both samples are of `domain_p`, on disjoint images. Domains differ in how
    frequent the classes are, too: 17 % of the photos are houses, and 2 % of the sketches.

    Parameters
    ----------
    domain_p, domain_q : {"photo", "art_painting", "cartoon", "sketch"}
    size : int
        Pixels of a side; the file has 64, the originals 227.
    ratio : float
        Rows of q per row of p.
    data_dir : path, optional
        Folder of the prepared file; by default ``RDIV_DATA``, then the cache.
    rows : pair of samples, optional
        Both domains, in place of the file.

    Examples
    --------
    >>> Pacs("photo", "drawing")
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: unknown domain 'drawing'; Known: photo, art_painting, cartoon, sketch.
    """

    about = "two of photo, painting, cartoon and sketch"
    holds = "3 x 64 x 64, 7 classes"
    under_null = "disjoint images of one domain"

    domain_p: str = "art_painting"
    domain_q: str = "cartoon"
    size: int = 64
    ratio: float = 1.0
    data_dir: Path | None = field(default=None, repr=False, compare=False)
    rows: tuple[Sample, Sample] | None = field(default=None, repr=False, compare=False)

    model = "alexnet"

    def __post_init__(self) -> None:
        for domain in (self.domain_p, self.domain_q):
            chosen_from(DOMAINS, domain, "domain")
        if self.domain_p == self.domain_q:
            raise InputError(
                f"domain_p and domain_q must differ, got {self.domain_p!r} twice; for two samples "
                "of one domain draw the null."
            )
        check_size(self.size)

    def caveat(self, n: int) -> str | None:
        """What to know about draws of this size."""
        m = q_rows(n, self.ratio)
        return overlap(
            (n + m, DOMAINS[self.domain_p], f"{self.domain_p} images for a null"),
            (m, DOMAINS[self.domain_q], f"{self.domain_q} images"),
        )

    def loaded(self) -> Pacs:
        """The same source with its images in memory."""
        return self if self.rows is not None else replace(self, rows=self._read())

    def draw(self, n: int, rng: np.random.Generator, null: bool = False) -> tuple[Sample, Sample]:
        """Draw a pair of samples, each images ``(n, 3, size, size)`` and classes ``(n,)``."""
        p, q = self.rows or self._read()
        m = q_rows(n, self.ratio)
        if null:
            there = f"pacs has {len(p[0])} {self.domain_p} images"
            rows_p, rows_q = disjoint(len(p[0]), n, m, rng, there)
            return self._taken(p, rows_p), self._taken(p, rows_q)
        if n > len(p[0]) or m > len(q[0]):
            raise InputError(
                f"pacs has {len(p[0])} {self.domain_p} and {len(q[0])} {self.domain_q} images, got "
                f"a draw of {n} + {m}; ask for fewer."
            )
        return (
            self._taken(p, rng.permutation(len(p[0]))[:n]),
            self._taken(q, rng.permutation(len(q[0]))[:m]),
        )

    def _taken(self, domain: Sample, rows: NDArray[np.intp]) -> Sample:
        return resized(domain[0][rows], self.size), domain[1][rows]

    def _read(self) -> tuple[Sample, Sample]:
        with np.load(data_file("pacs", self.data_dir), allow_pickle=False) as data:
            names, domain = data["domain_names"].tolist(), data["domain"]
            x, y = data["x"], data["label"].astype(np.int64)
        p, q = (domain == names.index(name) for name in (self.domain_p, self.domain_q))
        return (channels_first(x[p]), y[p]), (channels_first(x[q]), y[q])
