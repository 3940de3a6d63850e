"""The small samples that tools/golden.py runs on: tables, arrays and files of a fixed seed.

Every number is rounded, so that the same digits are written on every processor.
"""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROWS_P, ROWS_Q = 60, 50
CITIES = ("Bergen", "Oslo", "Tromso")
REMARKS = ("paid late", "nothing to add", "asked for help", "moved house")


def write_files(folder: Path) -> None:
    """Write every file that the commands read."""
    reference, current = table(ROWS_P, 0.0, 1), table(ROWS_Q, 1.0, 2)
    reference.write_csv(folder / "reference.csv")
    current.write_csv(folder / "current.csv")
    table(ROWS_Q, 0.0, 7).write_csv(folder / "same.csv")
    current.write_ndjson(folder / "current.jsonl")
    current.write_parquet(folder / "current.parquet")
    columns = ["income", "size", "age"]
    for name, frame in (("p", reference), ("q", current)):
        frame.select(columns).fill_null(40.0).write_csv(folder / f"{name}.csv")
        x, y = arrays(name)
        np.save(folder / f"{name}.npy", x)
        np.savez(folder / f"{name}.npz", x=x, y=y)
    write_mistakes(folder, current)


def write_mistakes(folder: Path, current: pl.DataFrame) -> None:
    """Write the files that every command must refuse."""
    current.head(1).write_csv(folder / "one_row.csv")
    current.with_columns(size=pl.lit("large")).write_csv(folder / "mixed.csv")
    current.drop("income").write_csv(folder / "narrow.csv")
    current.with_columns(size=pl.lit(float("inf"))).write_csv(folder / "infinite.csv")
    (folder / "empty.csv").write_text("", encoding="utf-8")
    (folder / "notes.docx").write_text("not a table", encoding="utf-8")


def table(rows: int, shift: float, seed: int) -> pl.DataFrame:
    """A table with numbers, a date, an id, text, missing cells and two targets.

    Parameters
    ----------
    rows : int
    shift : float
        How far the inputs and the targets differ from those of the reference.
    seed : int
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    days, city, remark = rng.integers(0, (60, 3, 4), size=(rows, 3)).T
    noise, blank = rng.normal(size=(rows, 2)), rng.random((rows, 2))
    score = 2 * x[:, 0] - x[:, 1] + (1 + shift) * noise[:, 0]
    sure = x[:, 0] + x[:, 2] + (0.6 + shift) * noise[:, 1]
    age = (40 + 10 * x[:, 0] + 4 * shift).round(1)
    return pl.DataFrame(
        {
            "id": [f"{seed}-{row:04d}" for row in range(rows)],
            "day": [date(2024, 1, 1) + timedelta(days=int(day)) for day in days],
            "age": [None if b < 0.08 else v for b, v in zip(blank[:, 0], age, strict=True)],
            "income": (3 + x[:, 1]).round(4),
            "size": ((1 + 0.5 * shift) * x[:, 2]).round(4),
            "city": [
                None if b < 0.05 else CITIES[c] for b, c in zip(blank[:, 1], city, strict=True)
            ],
            "remark": [REMARKS[number] for number in remark],
            "shop": [f"{seed}-{row // 4}" for row in range(rows)],
            "week": [f"w{row % 2}" for row in range(rows)],
            "score": score.round(4),
            "label": np.where(sure > 0, "yes", "no"),
        }
    )


def arrays(name: str) -> tuple[Floats, Floats]:
    """Inputs and a target, ``(n, 3)`` and ``(n,)``: p is plain, q is wider and noisier."""
    rng = np.random.default_rng({"p": 5, "q": 6}[name])
    rows, wide = (ROWS_P, 1.0) if name == "p" else (ROWS_Q, 1.6)
    x = rng.normal(size=(rows, 3)) * [1.0, 1.0, wide]
    y = x[:, 0] - 0.5 * x[:, 1] + wide * rng.normal(size=rows)
    return x.round(5), y.round(5)


def images(seed: int) -> tuple[Floats, NDArray[np.int64]]:
    """Small colour images and their classes, ``(12, 3, 32, 32)`` and ``(12,)``."""
    rng = np.random.default_rng(seed)
    return rng.random((12, 3, 32, 32)).round(3), np.arange(12) % 2


def encodings() -> dict[str, tuple[Any, Any]]:
    """Pairs of samples whose cells are not float64: the rows must be known all the same."""
    import pandas as pd

    rng = np.random.default_rng(8)
    p, q = rng.integers(-9, 9, (ROWS_P, 2)), rng.integers(-9, 12, (ROWS_Q, 2))
    names = np.array(CITIES)
    return {
        "whole numbers": (p, q),
        "single precision": ((p / 4).astype(np.float32), (q / 4).astype(np.float32)),
        "booleans": (p > 0, q > 0),
        "minus zero": (-0.0 * p, q * 1.0),
        "pandas categories": (
            pd.DataFrame({"a": p[:, 0], "b": pd.Categorical(names[p[:, 1] % 3], CITIES)}),
            pd.DataFrame({"a": q[:, 0], "b": pd.Categorical(names[q[:, 1] % 3], CITIES[::-1])}),
        ),
        "polars NaN": (with_nan(p), with_nan(q)),
        "decimals": (decimals(p), decimals(q)),
        "dates": (dates(p), dates(q)),
    }


def with_nan(x: NDArray[np.int64]) -> pl.DataFrame:
    """A frame with a column in which numbers above 5 became NaN."""
    return pl.DataFrame({"a": np.where(x[:, 0] > 5, np.nan, x[:, 0]), "b": x[:, 1]})


def decimals(x: NDArray[np.int64]) -> pl.DataFrame:
    """A frame with a column of decimals."""
    return pl.DataFrame({"a": x[:, 0], "b": x[:, 1]}).with_columns(
        pl.col("b").cast(pl.Decimal(9, 2))
    )


def dates(x: NDArray[np.int64]) -> pl.DataFrame:
    """A frame with a column of dates and one of numbers."""
    days = [date(2024, 6, 1) + timedelta(days=int(day)) for day in x[:, 0]]
    return pl.DataFrame({"day": days, "b": x[:, 1]})
