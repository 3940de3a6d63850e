"""Rows of a real table, and other rows of it with one planted change."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.names import chosen_from
from rdiv.sources.protocol import q_rows
from rdiv.studies.leaderboard.tables import TABLES, Table, read_table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CHANGES", "Planted"]

CHANGES = {
    "source": "a share of the rows comes from another year, class or process",
    "covariate": "rows with large numbers in one column are more likely",
    "lost": "rows of the top fifth of one column are missing, a share of them or all",
    "rare": "a share of the rows comes from the top twentieth of one column",
    "concept": "where one column is above its median, the target is another one",
    "noise": "noise on two columns, in standard deviations",
    "missing": "a share of one column is missing",
    "category": "a share of one text column is a new category",
    "column": "a share of one column is handed to other rows; its own distribution stays",
}
"""What is planted in q, by its name; with an amount."""


@dataclass(frozen=True)
class Planted:
    """Rows of a table (p), and other rows of it with one change (q).

    All rows of a draw are different rows of the table. Under the null q has no change. The target
    of the table is one of its columns, so that every test sees it.

    Parameters
    ----------
    table : str
        A name in `TABLES`.
    change : str
        A name in `CHANGES`.
    amount : float
    ratio : float
        Rows of q per row of p.
    data_dir : path, optional
        Folder of the data files; by default ``RDIV_DATA``, then the cache.

    Examples
    --------
    >>> p, q = Planted("digits", "missing", 0.5).draw(100, np.random.default_rng(0))
    >>> print(p["pixel 28"].null_count(), 30 < q["pixel 28"].null_count() < 70)
    0 True
    """

    table: str
    change: str
    amount: float
    ratio: float = 1.0
    data_dir: Path | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        table = chosen_from(TABLES, self.table, "table")
        chosen_from(CHANGES, self.change, "change")
        if self.change == "category" and not table.text:
            raise InputError(f"{self.table} has no text column for a new category.")

    def draw(
        self, n: int, rng: np.random.Generator, null: bool = False
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Draw ``n`` rows of p and ``ratio n`` rows of q, all of them different."""
        table, rows, m = (
            TABLES[self.table],
            read_table(self.table, self.data_dir),
            q_rows(n, self.ratio),
        )
        first = table.first(rows[table.kind].to_numpy())
        inside = first if table.one_source or self.change == "source" else np.ones_like(first)
        order = rng.permutation(np.flatnonzero(inside))
        if n + m > len(order):
            raise InputError(f"{self.table} has {len(order)} rows, got a draw of {n} + {m}.")
        p, rest = rows[order[:n]], order[n:]
        if null:
            return p.drop(table.kind), rows[rest[:m]].drop(table.kind)
        chosen = self._chosen(table, rows, rest, m, np.flatnonzero(~first), rng)
        if len(chosen) < m:
            raise InputError(
                f"{self.table} has too few rows for {self.change} in {m} rows of q; ask for fewer."
            )
        return p.drop(table.kind), self._changed(table, rows, rows[chosen], rng).drop(table.kind)

    def _chosen(
        self,
        table: Table,
        rows: pl.DataFrame,
        rest: NDArray[np.intp],
        m: int,
        others: NDArray[np.intp],
        rng: np.random.Generator,
    ) -> NDArray[np.intp]:
        """The rows of q, before anything in them is changed."""
        hit = rng.random(m) < self.amount
        if self.change == "source":
            strange = rng.permutation(others)[: hit.sum()]
            return np.concatenate([strange, rest[: m - hit.sum()]])
        if self.change not in ("covariate", "lost", "rare"):
            return rest[:m]
        number = rows[table.number].to_numpy()[rest]
        ranks = (number + 1e-9 * rng.random(len(number))).argsort().argsort() / len(number)
        if self.change == "rare":
            top = rest[ranks > 0.95]
            return np.concatenate([top[: hit.sum()], rest[ranks <= 0.95][: m - hit.sum()]])
        weights = np.exp(self.amount * (4 * ranks - 2))
        if self.change == "lost":
            weights = np.where(ranks > 0.8, 1 - self.amount, 1.0)
        return rng.choice(rest, m, replace=False, p=weights / weights.sum())

    def _changed(
        self, table: Table, rows: pl.DataFrame, q: pl.DataFrame, rng: np.random.Generator
    ) -> pl.DataFrame:
        """The rows of q after the change of one or two columns."""
        hit = rng.random(len(q)) < self.amount
        if self.change == "missing":
            return _replaced(q, table.second, hit, None)
        if self.change == "category":
            return _replaced(q, table.text, hit, "new")
        if self.change == "column":
            places, order = np.flatnonzero(hit), np.arange(len(q))
            order[places] = rng.permutation(places)
            return q.with_columns(q[table.shuffled][order].alias(table.shuffled))
        if self.change == "concept":
            return self._another_target(table, rows, q, hit)
        if self.change == "noise":
            for name in (table.number, table.second):
                spread = self.amount * rows[name].to_numpy().std()
                noisy = q[name].to_numpy() + spread * rng.normal(size=len(q))
                q = q.with_columns(_column(name, np.rint(noisy) if table.whole else noisy))
        return q

    def _another_target(
        self, table: Table, rows: pl.DataFrame, q: pl.DataFrame, hit: NDArray[np.bool_]
    ) -> pl.DataFrame:
        above = q[table.number].to_numpy() > np.median(rows[table.number].to_numpy())
        values = q[table.target].to_numpy()
        if values.dtype.kind in "fiu":
            changed = np.where(above, values * (1 + self.amount), values)
            return q.with_columns(
                _column(table.target, np.rint(changed) if table.whole else changed)
            )
        inverted = np.where(values == "1", "0", "1")
        return q.with_columns(_column(table.target, np.where(above & hit, inverted, values)))


def _replaced(q: pl.DataFrame, name: str, hit: NDArray[np.bool_], value: Any) -> pl.DataFrame:
    import polars as pl

    return q.with_columns(
        pl.when(pl.Series(hit)).then(pl.lit(value, q[name].dtype)).otherwise(name).alias(name)
    )


def _column(name: str, values: NDArray[Any]) -> pl.Series:
    import polars as pl

    return pl.Series(name, values.tolist() if values.dtype.kind == "O" else values)
