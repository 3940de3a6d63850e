"""Rows of a sample as the bytes of a file, in the format that its name asks for."""

from __future__ import annotations

import gzip
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["check_ending", "kept_rows"]

TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".feather")
PACKED = (".csv", ".tsv", ".jsonl", ".ndjson")


def check_ending(path: str, sample: Any) -> None:
    """Refuse a name that does not say how to write the sample.

    Examples
    --------
    >>> check_ending("clean.xlsx", object())
    Traceback (most recent call last):
    ...
    ValueError: 'clean.xlsx' must end in .csv, .tsv, .jsonl, .ndjson, .parquet or .feather ...
    """
    arrays = isinstance(sample, tuple | np.ndarray)
    if arrays and _ending(path) != ".npz":
        raise ValueError(f"{path!r} must end in .npz, as the data are arrays; choose such a name.")
    if not arrays and _ending(path) not in TABLES:
        names = ", ".join(TABLES[:-1])
        raise ValueError(
            f"{path!r} must end in {names} or {TABLES[-1]} (text also in .gz); choose such a name."
        )


def kept_rows(sample: Any, kept: NDArray[np.bool_], path: str) -> bytes:
    """The rows of a sample that a mask keeps, as the bytes of a file.

    Parameters
    ----------
    sample : polars frame or pair of arrays
    kept : (n,) mask
    path : str
        The file, whose ending says how to write it.
    """
    buffer = BytesIO()
    if isinstance(sample, tuple):
        np.savez_compressed(buffer, x=sample[0][kept], y=sample[1][kept])
        return buffer.getvalue()
    frame, ending = sample.filter(kept), _ending(path)
    if ending in (".csv", ".tsv"):
        frame.write_csv(buffer, separator="," if ending == ".csv" else "\t")
    elif ending == ".parquet":
        frame.write_parquet(buffer)
    elif ending == ".feather":
        frame.write_ipc(buffer)
    else:
        frame.write_ndjson(buffer)
    packed = path.lower().endswith(".gz")
    return gzip.compress(buffer.getvalue(), mtime=0) if packed else buffer.getvalue()


def _ending(path: str) -> str:
    name = Path(path).name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    return suffix if not name.endswith(".gz") or suffix in PACKED else ".gz"
