"""The real tables of the leaderboard: where they come from, and which columns are changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rdiv.names import chosen_from
from rdiv.sources.data_files import data_file

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TABLES", "Table", "read_table"]

_CODES = ("MAR", "DIS", "CIT", "MIL", "SEX", "RAC1P")
_HIGGS_ROWS = 20_000


@dataclass(frozen=True)
class Table:
    """A table and the columns in which changes are planted.

    Parameters
    ----------
    read : callable
        Gives the table; its argument is the folder of the data files.
    kind : str
        The column that says of which kind a row is; it is left out of the samples.
    first : callable
        From the values of that column to the rows that are not of another source.
    number, second : str
        Columns of numbers: rows are chosen by the first; both get noise, the second goes missing.
    shuffled : str
        The column whose values are handed to other rows.
    target : str
        The column whose relation to `number` changes.
    text : str
        The column that gets a new category; empty where there is none.
    whole : bool
        Whether noisy numbers are rounded, because those of the table are whole.
    one_source : bool
        Whether all changes but that of the source stay among the rows of `first`.
    """

    read: Callable[[Path | None], pl.DataFrame]
    kind: str
    first: Callable[[NDArray[Any]], NDArray[np.bool_]]
    number: str
    second: str
    shuffled: str
    target: str
    text: str = ""
    whole: bool = False
    one_source: bool = True


@lru_cache(maxsize=8)
def read_table(name: str, folder: Path | None = None) -> pl.DataFrame:
    """A table by its name; read once in a process.

    Examples
    --------
    >>> print(read_table("digits").shape)
    (1797, 65)
    """
    return chosen_from(TABLES, name, "table").read(folder)


def _census(folder: Path | None) -> pl.DataFrame:
    """People of 2015 and 2018: two numbers, seven codes as text, and `year`."""
    import polars as pl

    with np.load(data_file("census", folder), allow_pickle=False) as file:
        chosen = np.isin(file["year"], (2015, 2018))
        names = [str(name) for name in file["columns"]]
        columns = dict(zip(names, file["x"][chosen].T, strict=True))
        columns |= {"employed": file["y"][chosen], "year": file["year"][chosen]}
    texts = [*_CODES, "employed"]
    return pl.DataFrame(columns).select(
        pl.col("AGEP", "SCHL").cast(pl.Float64), pl.col(texts).cast(pl.String), "year"
    )


def _bikes(folder: Path | None) -> pl.DataFrame:
    """Hours of bike rentals; weather, weekday and season as text."""
    import polars as pl

    with np.load(data_file("bikes", folder), allow_pickle=False) as file:
        names = [str(name) for name in file["columns"]]
        table = pl.DataFrame(dict(zip(names, file["x"].T.astype(float), strict=True)))
    texts = pl.col("season", "weather", "weekday").cast(pl.Int8).cast(pl.String)
    return table.drop("month", "casual", "registered").with_columns(texts)


def _digits(folder: Path | None) -> pl.DataFrame:
    """Scans of handwritten digits, 64 grey values, and `label`; part of scikit-learn."""
    import polars as pl
    from sklearn.datasets import load_digits

    del folder
    x, y = load_digits(return_X_y=True)
    columns = {f"pixel {j:02}": x[:, j] for j in range(64)}
    return pl.DataFrame({**columns, "label": y})


def _higgs(folder: Path | None) -> pl.DataFrame:
    """Background and signal events, 28 columns, and `signal`."""
    import polars as pl

    with np.load(data_file("higgs", folder), allow_pickle=False) as file:
        parts = [file[name][:_HIGGS_ROWS].astype(float) for name in ("background", "signal")]
        names = [str(name) for name in file["columns"]]
    columns = dict(zip(names, np.concatenate(parts).T, strict=True))
    return pl.DataFrame({**columns, "signal": np.repeat([0, 1], [len(part) for part in parts])})


def _earliest(values: NDArray[Any]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = values == values.min()
    return found


def _below_five(values: NDArray[Any]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = values < 5
    return found


TABLES = {
    "census": Table(
        _census, "year", _earliest, "AGEP", "SCHL", "MAR", "employed", "RAC1P", whole=True
    ),
    "bikes": Table(_bikes, "year", _earliest, "temp", "humidity", "atemp", "count", "weather"),
    "digits": Table(
        _digits, "label", _below_five, "pixel 20", "pixel 28", "pixel 28", "pixel 43",
        whole=True, one_source=False,
    ),
    "higgs": Table(_higgs, "signal", _earliest, "m_bb", "m_wbb", "m_wwbb", "m_jlv"),
}  # fmt: skip
