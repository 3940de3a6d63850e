"""The cells of the leaderboard: a source, a number of rows, and a name for both.

Amounts were set once by 20 draws of another seed, so that in most cells some test of a few finds
the change in a part of the draws; natural changes (years, signal) are as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rdiv.errors import InputError, MissingFileError
from rdiv.names import spelled, suggestion
from rdiv.sources import BY_NAME, Blob, Hdgm, Higgs
from rdiv.sources.protocol import Source, in_memory
from rdiv.studies.leaderboard.embedded import Embedded
from rdiv.studies.leaderboard.planted import Planted

__all__ = ["CELLS", "Cell", "cells_named", "with_data"]


@dataclass(frozen=True)
class Cell:
    """One cell: what is drawn, and how many rows of p.

    Parameters
    ----------
    name : str
    source : Source
    n : int
        Rows of p; the ratio of the source gives those of q.
    trained : bool
        Whether tests that learn with labels run here too.
    """

    name: str
    source: Any
    n: int
    trained: bool = False

    @cached_property
    def drawn(self) -> Source:
        """The source as a study sees it: without a model of its own, so every test has one default.

        Examples
        --------
        >>> print(CELLS["blob, 200"].drawn)
        blob
        """
        return _Plain(self.source)

    @property
    def rows(self) -> str:
        """Rows of both samples in words."""
        ratio = getattr(self.source, "ratio", 1.0)
        return f"{self.n} + {max(1, round(self.n * ratio))}"


@dataclass(frozen=True)
class _Plain:
    source: Any

    def __str__(self) -> str:
        return spelled(self.source, BY_NAME)

    def loaded(self) -> _Plain:
        return _Plain(in_memory(self.source))

    def draw(self, n: int, rng: np.random.Generator, null: bool = False) -> tuple[Any, Any]:
        drawn: tuple[Any, Any] = self.source.draw(n, rng, null)
        return drawn


def _table(
    table: str, change: str, amount: float, n: int, *, ratio: float = 1.0, trained: bool = False
) -> Cell:
    rows = f"{n}" if ratio == 1 else f"{n} + {round(n * ratio)}"
    source = Planted(table, change, amount, ratio)
    return Cell(f"{table} {change}, {rows}", source, n, trained)


def _images(images: str, change: str, amount: float, n: int, *, trained: bool = False) -> Cell:
    return Cell(f"{images} {change}, {n}", Embedded(images, change, amount), n, trained)


_FOUND = (
    Cell("blob, 200", Blob(), 200, trained=True),
    Cell("blob, 50", Blob(), 50),
    Cell("hdgm 10, 1000", Hdgm(10), 1000),
    Cell("hdgm 5, 200", Hdgm(5), 200),
    Cell("higgs 4 columns, 1000", Higgs(), 1000),
    Cell("higgs 28 columns, 200", Higgs(columns="all"), 200, trained=True),
    Cell("higgs 28 columns, 50", Higgs(columns="all"), 50),
    _table("higgs", "source", 0.3, 1000),
    _table("higgs", "column", 0.4, 200),
    _table("higgs", "noise", 0.5, 200),
    _table("higgs", "lost", 0.9, 200),
    _table("census", "source", 1.0, 1000),
    _table("census", "covariate", 0.2, 200),
    _table("census", "covariate", 0.7, 20),
    _table("census", "concept", 0.7, 200, trained=True),
    _table("census", "concept", 0.35, 1000),
    _table("census", "noise", 0.5, 200),
    _table("census", "missing", 0.06, 200),
    _table("census", "missing", 0.25, 50),
    _table("census", "category", 0.05, 200),
    _table("census", "column", 0.7, 200),
    _table("census", "lost", 0.8, 200),
    _table("census", "rare", 0.15, 200),
    _table("census", "covariate", 0.8, 200, ratio=0.1, trained=True),
    _table("bikes", "source", 1.0, 50),
    _table("bikes", "source", 1.0, 20),
    _table("bikes", "covariate", 0.2, 200),
    _table("bikes", "concept", 0.6, 200, trained=True),
    _table("bikes", "noise", 0.6, 200),
    _table("bikes", "missing", 0.2, 50),
    _table("bikes", "category", 0.25, 50),
    _table("bikes", "column", 0.2, 200, trained=True),
    _table("bikes", "lost", 0.7, 200),
    _table("bikes", "rare", 0.25, 200),
    _table("digits", "source", 0.3, 50),
    _table("digits", "source", 0.7, 20),
    _table("digits", "noise", 0.3, 200),
    _table("digits", "column", 0.7, 200),
    _table("digits", "source", 0.8, 200, ratio=0.1),
    _images("mnist", "generated", 0.6, 200, trained=True),
    _images("mnist", "class", 1.0, 200),
    _images("mnist", "noise", 0.15, 50),
    _images("cifar10", "darker", 0.2, 200, trained=True),
    _images("cifar10", "class", 1.0, 1000),
    _images("cifar10", "noise", 0.1, 20),
)

CELLS: dict[str, Cell] = {cell.name: cell for cell in _FOUND}


def cells_named(patterns: Sequence[str]) -> tuple[Cell, ...]:
    """The cells whose names match one of the patterns; all of them without patterns.

    Examples
    --------
    >>> print([cell.name for cell in cells_named(["blob*"])])
    ['blob, 200', 'blob, 50']
    """
    unknown = [one for one in patterns if not any(fnmatch(name, one) for name in CELLS)]
    if unknown:
        near = suggestion(unknown[0], CELLS)
        raise InputError(
            f"no cell is called {unknown[0]!r}; {near or 'see rdiv leaderboard --plan.'}"
        )
    wanted = patterns or ["*"]
    return tuple(cell for name, cell in CELLS.items() if any(fnmatch(name, one) for one in wanted))


def with_data(
    cells: Iterable[Cell], folder: str | Path | None
) -> tuple[tuple[Cell, ...], tuple[str, ...]]:
    """The cells whose data are there, and one sentence for every cell that is left out."""
    there, absent = [], []
    for cell in cells:
        found = _in_folder(cell, folder)
        try:
            found.drawn.draw(2, np.random.default_rng(0), True)
        except MissingFileError as error:
            absent.append(f"{cell.name} is left out: {error}")
        else:
            there.append(found)
    return tuple(there), tuple(absent)


def _in_folder(cell: Cell, folder: str | Path | None) -> Cell:
    if folder is None or not hasattr(cell.source, "data_dir"):
        return cell
    return replace(cell, source=replace(cell.source, data_dir=Path(folder)))
