"""Real tables with planted changes: the cells of `omnibus_tables.py`, and how they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from rdiv.sources import Blob, Hdgm, Higgs
from rdiv.sources.data_files import data_dir

CODES = ("MAR", "DIS", "CIT", "MIL", "SEX", "RAC1P")


@dataclass(frozen=True)
class Cell:
    """A table, a change of its current rows, and how many rows there are."""

    family: str
    change: str
    amount: float
    n_p: int
    n_q: int
    trained: bool = False


@lru_cache(maxsize=1)
def census() -> pl.DataFrame:
    """People of 2015 and 2018: two numbers, six codes as text, and `year`."""
    with np.load(data_dir() / "acs_employment_ma.npz", allow_pickle=False) as file:
        chosen = np.isin(file["year"], (2015, 2018))
        columns = {str(name): file["x"][chosen, j] for j, name in enumerate(file["columns"])}
        table = pl.DataFrame({**columns, "year": file["year"][chosen]})
    table = table.select("AGEP", "SCHL", *CODES, "year")
    return table.with_columns(pl.col(name).cast(pl.String) for name in CODES)


@lru_cache(maxsize=1)
def bikes() -> pl.DataFrame:
    """Hours of bike rentals; weather, weekday and season as text."""
    with np.load(data_dir() / "bike_sharing_hour.npz", allow_pickle=False) as file:
        columns = {str(name): file["x"][:, j] for j, name in enumerate(file["columns"])}
    text = [pl.col(name).cast(pl.Int8).cast(pl.String) for name in ("season", "weather", "weekday")]
    return pl.DataFrame(columns).drop("month", "casual").with_columns(text)


@lru_cache(maxsize=1)
def digits() -> pl.DataFrame:
    """Scans of handwritten digits, 64 grey values; `label` is left out later."""
    from sklearn.datasets import load_digits

    found = load_digits()
    columns = {f"pixel {j:02}": found.data[:, j] for j in range(64)}
    return pl.DataFrame({**columns, "label": found.target})


@lru_cache(maxsize=1)
def higgs() -> pl.DataFrame:
    """Background and signal events, 28 columns, with `signal`."""
    with np.load(data_dir() / "higgs_tst.npz", allow_pickle=False) as file:
        rows = [file[name][:20_000].astype(float) for name in ("background", "signal")]
        names = [str(name) for name in file["columns"]]
    table = pl.DataFrame(dict(zip(names, np.concatenate(rows).T, strict=True)))
    return table.with_columns(signal=pl.Series(np.repeat([0, 1], 20_000)))


@dataclass(frozen=True)
class Table:
    """A table and the columns that changes are planted in.

    Parameters
    ----------
    load : callable
        Gives the table.
    extra : str
        The column that says which rows are the other ones; it is left out of the samples.
    first : callable
        From the values of that column to the rows that are not the other ones.
    number, second, text, pair : str
        Columns that are changed: the first by weights and by scale, the second by scale and missing
        cells, the text by a new level, the last by a break from the others.
    all_rows : bool
        Whether changes of columns are planted among all rows, or among those of `first`.
    """

    load: Callable[[], pl.DataFrame]
    extra: str
    first: Callable[[np.ndarray], np.ndarray]
    number: str
    second: str
    pair: str
    text: str = ""
    all_rows: bool = False


def smallest(values: np.ndarray) -> np.ndarray:
    found: np.ndarray = values == values.min()
    return found


TABLES = {
    "census": Table(census, "year", smallest, "AGEP", "SCHL", "MAR", "RAC1P"),
    "bikes": Table(bikes, "year", smallest, "temp", "humidity", "atemp", "weather"),
    "digits": Table(digits, "label", lambda label: label < 5, "pixel 20", "pixel 28", "pixel 28",
                    all_rows=True),
    "higgs": Table(higgs, "signal", smallest, "m_bb", "m_wbb", "m_wwbb"),
}  # fmt: skip
SOURCES: dict[str, Any] = {"blob": Blob(), "hdgm": Hdgm(10), "higgs4": Higgs()}


def draw(
    cell: Cell,
    rng: np.random.Generator,
    tables: Mapping[str, Table] = TABLES,
    sources: Mapping[str, Any] = SOURCES,
) -> tuple[Any, Any]:
    """Reference and current rows of one trial, all different rows of the table."""
    if cell.family in ("paper", "none"):
        source = sources[cell.change]
        p, q = source.draw(max(cell.n_p, cell.n_q), rng, cell.family == "none")
        return p[: cell.n_p], q[: cell.n_q]
    table = tables[cell.family]
    rows = table.load()
    rows = rows[rng.permutation(len(rows))]
    reference, current = _parts(rows, table, cell, rng)
    return reference.drop(table.extra), _changed(current, rows, table, cell, rng).drop(table.extra)


def _parts(
    rows: pl.DataFrame, table: Table, cell: Cell, rng: np.random.Generator
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Random rows for both sides; those of current are chosen by weights for some changes."""
    first = table.first(rows[table.extra].to_numpy())
    if cell.change == "other":  # another year, another digit, signal instead of background
        p = rows.filter(pl.Series(first))[: cell.n_p]
        same = rows.filter(pl.Series(first))[cell.n_p : cell.n_p + cell.n_q]
        mixed = rows.filter(pl.Series(~first))[: cell.n_q]
        changed = rng.random(len(mixed)) < cell.amount
        return p, pl.concat([mixed.filter(pl.Series(changed)), same.filter(pl.Series(~changed))])
    if not table.all_rows:
        rows = rows.filter(pl.Series(first))
    p, rest = rows[: cell.n_p], rows[cell.n_p :]
    weights = np.ones(len(rest))
    if cell.change in ("covariate", "lost"):
        number = rest[table.number].to_numpy().astype(float)
        ranks = number.argsort().argsort() / len(number)
        weights = np.exp(cell.amount * (4 * ranks - 2))
        if cell.change == "lost":
            weights = np.where(ranks > 0.8, 1 - cell.amount, 1.0)
    q = rest[rng.choice(len(rest), cell.n_q, replace=False, p=weights / weights.sum())]
    return p, q


def _changed(
    q: pl.DataFrame, rows: pl.DataFrame, table: Table, cell: Cell, rng: np.random.Generator
) -> pl.DataFrame:
    """Current rows with the planted change."""
    hit = pl.Series(rng.random(len(q)) < cell.amount)
    if cell.change == "new category":
        name = table.text
        return q.with_columns(pl.when(hit).then(pl.lit("new")).otherwise(name).alias(name))
    if cell.change == "missing":
        name = table.second
        return q.with_columns(pl.when(hit).then(None).otherwise(name).alias(name))
    if cell.change == "broken pair":
        name, chosen = table.pair, np.flatnonzero(hit.to_numpy())
        order = np.arange(len(q))
        order[chosen] = rng.permutation(chosen)
        return q.with_columns(q[name][order].alias(name))
    if cell.change == "scale":
        for name in (table.number, table.second):
            centre = float(rows[name].mean())  # type: ignore[arg-type]
            wider = centre + (1 + cell.amount) * (pl.col(name).cast(pl.Float64) - centre)
            q = q.with_columns(wider.alias(name))
    return q


def _cells() -> dict[str, Cell]:
    found = [
        Cell("census", "other", 1.0, 1000, 1000),
        Cell("census", "new category", 0.05, 300, 300),
        Cell("census", "new category", 0.3, 240, 10, True),
        Cell("census", "missing", 0.05, 300, 300, True),
        Cell("census", "missing", 0.2, 240, 30),
        Cell("census", "broken pair", 0.6, 300, 300),
        Cell("census", "broken pair", 1.0, 1000, 50),
        Cell("census", "covariate", 0.25, 300, 300, True),
        Cell("census", "covariate", 0.9, 240, 10),
        Cell("census", "lost", 0.8, 300, 300),
        Cell("census", "lost", 1.0, 1000, 50),
        Cell("census", "scale", 0.25, 300, 300),
        Cell("bikes", "other", 0.6, 300, 300, True),
        Cell("bikes", "other", 1.0, 240, 30),
        Cell("bikes", "new category", 0.04, 300, 300),
        Cell("bikes", "missing", 0.03, 500, 500),
        Cell("bikes", "missing", 0.3, 240, 10),
        Cell("bikes", "broken pair", 0.1, 300, 300, True),
        Cell("bikes", "broken pair", 0.3, 240, 30),
        Cell("bikes", "covariate", 0.25, 300, 300),
        Cell("bikes", "covariate", 0.8, 240, 10, True),
        Cell("bikes", "lost", 0.8, 300, 300),
        Cell("bikes", "scale", 0.25, 300, 300),
        Cell("bikes", "scale", 0.6, 1000, 50),
        Cell("digits", "other", 0.1, 300, 300),
        Cell("digits", "other", 0.5, 240, 10, True),
        Cell("digits", "missing", 0.03, 300, 300),
        Cell("digits", "broken pair", 0.5, 500, 500),
        Cell("digits", "covariate", 0.25, 300, 300),
        Cell("digits", "lost", 0.6, 300, 300),
        Cell("digits", "scale", 0.15, 500, 200),
        Cell("higgs", "other", 0.3, 1000, 1000),
        Cell("higgs", "other", 0.8, 240, 50, True),
        Cell("higgs", "broken pair", 0.15, 300, 300),
        Cell("higgs", "covariate", 0.25, 300, 300),
        Cell("higgs", "lost", 0.7, 300, 300),
        Cell("higgs", "scale", 0.2, 300, 300),
        Cell("higgs", "missing", 0.2, 240, 30),
        Cell("paper", "blob", 1.0, 180, 180),
        Cell("paper", "hdgm", 1.0, 1000, 1000),
        Cell("paper", "higgs4", 1.0, 1000, 1000),
        Cell("digits", "other", 1.0, 239, 10),  # ten rows of another source
        Cell("census", "covariate", 2.0, 239, 10),
    ]
    names = [
        f"{cell.family} {cell.change}"
        + (f" {cell.amount:g}" if cell.family != "paper" else "")
        + f", {cell.n_p}:{cell.n_q}"
        for cell in found
    ]
    return dict(zip(names, found, strict=True))


CELLS = _cells()
