"""Cells on which the combination of omnibus was chosen: none of those that are reported.

Other years and columns of the census, other columns of the bike rentals, other digits, other HIGGS
events, two more tables and artificial columns; other amounts and sizes throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl
from benchmarks.studies.table_cells import Cell, Table, digits, smallest

from rdiv.sources import Blob, Hdgm, Higgs
from rdiv.sources.data_files import data_dir

_CODES = ("RELP", "ESP", "MIG", "ANC", "SEX", "MAR")


@lru_cache(maxsize=1)
def _census() -> pl.DataFrame:
    with np.load(data_dir() / "acs_employment_ma.npz", allow_pickle=False) as file:
        chosen = np.isin(file["year"], (2016, 2017))
        columns = {str(name): file["x"][chosen, j] for j, name in enumerate(file["columns"])}
        table = pl.DataFrame({**columns, "year": file["year"][chosen]})
    table = table.select("AGEP", "SCHL", *_CODES, "year")
    return table.with_columns(pl.col(name).cast(pl.String) for name in _CODES)


@lru_cache(maxsize=1)
def _bikes() -> pl.DataFrame:
    with np.load(data_dir() / "bike_sharing_hour.npz", allow_pickle=False) as file:
        columns = {str(name): file["x"][:, j] for j, name in enumerate(file["columns"])}
    text = [pl.col(name).cast(pl.Int8).cast(pl.String) for name in ("hour", "weather", "month")]
    return pl.DataFrame(columns).drop("season", "atemp", "count").with_columns(text)


@lru_cache(maxsize=1)
def _higgs() -> pl.DataFrame:
    with np.load(data_dir() / "higgs_tst.npz", allow_pickle=False) as file:
        rows = [file[name][20_000:23_000].astype(float) for name in ("background", "signal")]
        names = [str(name) for name in file["columns"]]
    table = pl.DataFrame(dict(zip(names, np.concatenate(rows).T, strict=True)))
    return table.with_columns(signal=pl.Series(np.repeat([0, 1], 3000)))


@lru_cache(maxsize=1)
def _cancer() -> pl.DataFrame:
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    names = [str(name) for name in found.feature_names]
    table = pl.DataFrame(dict(zip(names, found.data.T, strict=True)))
    return table.with_columns(kind=pl.Series(found.target))


@lru_cache(maxsize=1)
def _diabetes() -> pl.DataFrame:
    from sklearn.datasets import load_diabetes

    found = load_diabetes()
    table = pl.DataFrame(dict(zip(found.feature_names, found.data.T, strict=True)))
    return table.with_columns(high=pl.Series(found.target > 140))


@lru_cache(maxsize=1)
def _orders() -> pl.DataFrame:
    """Artificial orders: a total that follows from two columns, a region from a city."""
    rng = np.random.default_rng(7)
    n = 20_000
    price, city = np.exp(rng.normal(3, 0.6, n)), rng.integers(0, 12, n)
    weight, pieces = np.exp(rng.normal(0, 0.5, n)), 1 + rng.poisson(3, n)
    rest = {f"other {j}": rng.normal(size=n) + 0.3 * np.log(price) for j in range(4)}
    return pl.DataFrame({
        "price": price, "weight": weight, "pieces": pieces,
        "total": price * pieces * np.exp(rng.normal(0, 0.02, n)),
        "city": [f"city {j}" for j in city], "region": [f"region {j // 3}" for j in city],
        **rest, "sent": rng.random(n) < 0.5,
    })  # fmt: skip


TABLES = {
    "census": Table(_census, "year", smallest, "AGEP", "SCHL", "RELP", "MIG"),
    "bikes": Table(_bikes, "year", smallest, "humidity", "temp", "windspeed", "month"),
    "digits": Table(digits, "label", lambda label: label % 2 == 0, "pixel 35", "pixel 19",
                    "pixel 35", all_rows=True),
    "higgs": Table(_higgs, "signal", smallest, "m_jlv", "m_wbb", "m_bb"),
    "cancer": Table(_cancer, "kind", lambda kind: kind == 1, "mean texture", "mean area",
                    "mean radius", all_rows=True),
    "diabetes": Table(_diabetes, "high", lambda high: high, "bmi", "s5", "s1", all_rows=True),
    "orders": Table(_orders, "sent", lambda sent: sent, "weight", "price", "total", "city",
                    all_rows=True),
    "regions": Table(_orders, "sent", lambda sent: sent, "weight", "price", "region", "city",
                     all_rows=True),
}  # fmt: skip


@dataclass(frozen=True)
class Columns:
    """A few artificial columns of numbers; q has one change."""

    change: str
    amount: float
    d: int

    def draw(
        self, n: int, rng: np.random.Generator, null: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Two samples of n rows."""
        p, q = rng.normal(size=(2, n, self.d))
        if self.change == "location":
            q[:, 0] += self.amount
        elif self.change == "all locations":
            q += self.amount
        elif self.change == "scale":
            q *= 1 + self.amount
        elif self.change == "correlation":
            q[:, 1] = self.amount * q[:, 0] + np.sqrt(1 - self.amount**2) * q[:, 1]
        elif self.change == "tail":
            p, q = np.exp(p), np.exp(q)
            q[:, 0] *= np.where(rng.random(n) < self.amount, 5.0, 1.0)
        return p, q


SOURCES = {
    "blob": Blob(),
    "hdgm 5": Hdgm(5),
    "hdgm 8 rotated": Hdgm(8, rotated=True),
    "hdgm 20": Hdgm(20),
    "higgs4": Higgs(),
    "location": Columns("location", 0.3, 4),
    "all locations": Columns("all locations", 0.15, 6),
    "scale": Columns("scale", 0.13, 3),
    "correlation": Columns("correlation", 0.25, 3),
    "tail": Columns("tail", 0.15, 4),
    "many locations": Columns("all locations", 0.08, 30),
    "few rows": Columns("location", 0.9, 5),
}

_FOUND = [
    Cell("paper", "blob", 1.0, 150, 150),
    Cell("paper", "blob", 1.0, 300, 120),
    Cell("paper", "hdgm 5", 1.0, 800, 800),
    Cell("paper", "hdgm 8 rotated", 1.0, 900, 900),
    Cell("paper", "hdgm 20", 1.0, 900, 900),
    Cell("paper", "higgs4", 1.0, 800, 800),
    Cell("paper", "higgs4", 1.0, 1500, 600),
    Cell("paper", "location", 1.0, 200, 200),
    Cell("paper", "all locations", 1.0, 250, 150),
    Cell("paper", "scale", 1.0, 200, 200),
    Cell("paper", "correlation", 1.0, 250, 250),
    Cell("paper", "tail", 1.0, 200, 100),
    Cell("paper", "many locations", 1.0, 250, 150),
    Cell("paper", "few rows", 1.0, 200, 15),
    Cell("census", "new category", 0.08, 200, 200),
    Cell("census", "missing", 0.3, 180, 12),
    Cell("census", "broken pair", 0.4, 500, 300),
    Cell("census", "covariate", 0.3, 180, 180),
    Cell("census", "covariate", 1.2, 240, 10),
    Cell("census", "lost", 0.9, 220, 220),
    Cell("census", "scale", 0.15, 400, 200),
    Cell("bikes", "other", 0.8, 180, 60),
    Cell("bikes", "other", 1.0, 300, 20),
    Cell("bikes", "missing", 0.05, 250, 250),
    Cell("bikes", "broken pair", 0.8, 400, 200),
    Cell("bikes", "covariate", 0.3, 220, 220),
    Cell("bikes", "lost", 0.9, 220, 150),
    Cell("bikes", "scale", 0.2, 200, 200),
    Cell("digits", "other", 0.25, 250, 200),
    Cell("digits", "broken pair", 0.5, 400, 300),
    Cell("digits", "covariate", 0.3, 220, 220),
    Cell("higgs", "other", 0.5, 700, 400),
    Cell("higgs", "covariate", 0.3, 220, 220),
    Cell("higgs", "scale", 0.25, 250, 100),
    Cell("higgs", "lost", 0.8, 250, 200),
    Cell("cancer", "other", 0.25, 150, 40),
    Cell("cancer", "broken pair", 0.3, 200, 100),
    Cell("cancer", "covariate", 0.4, 150, 80),
    Cell("cancer", "broken pair", 0.06, 200, 200),
    Cell("cancer", "broken pair", 0.2, 240, 20),
    Cell("diabetes", "broken pair", 0.1, 200, 200),
    Cell("diabetes", "covariate", 0.3, 200, 100),
    Cell("orders", "broken pair", 0.06, 250, 250),
    Cell("orders", "broken pair", 0.2, 240, 25),
    Cell("orders", "missing", 0.04, 250, 250),
    Cell("regions", "broken pair", 0.06, 250, 250),
    Cell("regions", "broken pair", 0.15, 400, 30),
]

CELLS = {
    f"{'' if cell.family == 'paper' else cell.family + ' '}{cell.change}"
    f"{'' if cell.family == 'paper' else f' {cell.amount:g}'}, {cell.n_p}:{cell.n_q}": cell
    for cell in _FOUND
}
