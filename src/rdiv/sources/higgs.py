"""HIGGS: real collision events, background against signal."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.sources.data_files import data_file
from rdiv.sources.protocol import q_rows

__all__ = ["Higgs"]

JET_PHI = (7, 11, 15, 19)
OVERLAP_FROM = 2500


@dataclass(frozen=True)
class Higgs:
    """Background (p) and signal (q) events of the HIGGS data (Baldi et al. 2014).

    Under the null both samples are background, on disjoint rows.

    Parameters
    ----------
    columns : {"jet-phi", "all"} or sequence of int
        The four jet angles of the two-sample literature (columns 7, 11, 15, 19), all 28, or these.
    ratio : float
        Rows of q per row of p.
    data_dir : path, optional
        Folder of the prepared file; by default ``RDIV_DATA``, then the cache.
    rows : pair of arrays, optional
        Background and signal, in place of the file.

    Examples
    --------
    >>> print(Higgs().caveat(1000), Higgs().caveat(4000)[:22])
    None draws overlap: 4000 of
    """

    about = "events of a collider: background in p, signal in q"
    holds = "4, all 28, or a choice"
    under_null = "disjoint rows of background"

    columns: str | tuple[int, ...] = "jet-phi"
    ratio: float = 1.0
    data_dir: Path | None = field(default=None, repr=False, compare=False)
    rows: tuple[NDArray[np.float64], NDArray[np.float64]] | None = field(
        default=None, repr=False, compare=False
    )

    model = "kde"

    def __post_init__(self) -> None:
        if isinstance(self.columns, str) and self.columns not in ("jet-phi", "all"):
            raise InputError(
                f"columns must be 'jet-phi', 'all' or column numbers, got {self.columns!r}."
            )
        if not isinstance(self.columns, str):
            object.__setattr__(self, "columns", tuple(int(column) for column in self.columns))

    def caveat(self, n: int) -> str | None:
        """What to know about draws of this size."""
        most = max(n, q_rows(n, self.ratio))
        if most <= OVERLAP_FROM:
            return None
        return (
            f"draws overlap: {most} of 23262 background rows each time, so the interval describes "
            "this file, not the population"
        )

    def loaded(self) -> Higgs:
        """The same source with its rows in memory."""
        return self if self.rows is not None else replace(self, rows=self._read())

    def draw(
        self, n: int, rng: np.random.Generator, null: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw a pair of samples without replacement."""
        background, signal = self.rows or self._read()
        m = q_rows(n, self.ratio)
        needed, there = (n + m, len(background)) if null else (max(n, m), len(signal))
        if needed > there or n > len(background):
            raise InputError(
                f"higgs has {len(background)} background and {len(signal)} signal rows, got a draw "
                f"of {n} + {m}; ask for fewer."
            )
        if null:
            rows = rng.permutation(len(background))[: n + m]
            return background[rows[:n]], background[rows[n:]]
        return (
            background[rng.permutation(len(background))[:n]],
            signal[rng.permutation(len(signal))[:m]],
        )

    def _read(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        path = data_file("higgs_tst.npz", self.data_dir)
        with np.load(path, allow_pickle=False) as data:
            background, signal = data["background"], data["signal"]
        if self.columns == "all":
            return background.astype(np.float64), signal.astype(np.float64)
        chosen = list(JET_PHI if isinstance(self.columns, str) else self.columns)
        if not all(0 <= column < background.shape[1] for column in chosen):
            raise InputError(f"higgs has columns 0 to {background.shape[1] - 1}, got {chosen}.")
        return background[:, chosen].astype(np.float64), signal[:, chosen].astype(np.float64)
