"""Prepared data files: where they lie, whether they are whole."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rdiv.spelling import chosen_from

__all__ = ["DATA_FILES", "DataFile", "arrays_digest", "data_dir", "data_file"]


@dataclass(frozen=True)
class DataFile:
    """One prepared file: its name, what it holds, and the digest of its arrays."""

    file: str
    about: str
    digest: str


DATA_FILES = {
    "higgs": DataFile(
        "higgs_tst.npz",
        "HIGGS collision events (Baldi et al. 2014): 23262 background and 26166 signal rows",
        "be099709eff8444ecae357741d612c567529109bd49d3fdc763d77744ff7ed76",
    ),
}


def data_dir(given: str | Path | None = None) -> Path:
    """The folder of prepared files: the one given, ``RDIV_DATA``, or the cache.

    Examples
    --------
    >>> print(data_dir("somewhere"))
    somewhere
    """
    if given is not None:
        return Path(given).expanduser()
    named = os.environ.get("RDIV_DATA")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "rdiv"


def data_file(file: str, folder: str | Path | None = None) -> Path:
    """The path of a prepared file, refused if it is absent or not what it should be."""
    name = next((name for name, known in DATA_FILES.items() if known.file == file), file)
    known = chosen_from(DATA_FILES, name, "data file")
    path = data_dir(folder) / known.file
    if not path.is_file():
        raise FileNotFoundError(
            f"the data file {known.file} is not in {path.parent}; fetch it with "
            f"'rdiv data fetch {name}', or set RDIV_DATA (or --data-dir) to the folder that has it."
        )
    stat = path.stat()
    if _digest_of(path, stat.st_mtime_ns, stat.st_size) != known.digest:
        raise ValueError(
            f"{path} has a wrong checksum, so it is damaged or another file; delete it and run "
            f"'rdiv data fetch {name}'."
        )
    return path


def arrays_digest(arrays: dict[str, NDArray[np.generic]]) -> str:
    """Digest of named arrays, whatever file format holds them.

    Examples
    --------
    >>> print(arrays_digest({"x": np.arange(3)})[:8])
    6d406f81
    """
    total = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {array.shape}".encode())
        total.update(array.tobytes())
    return total.hexdigest()


@lru_cache(maxsize=32)
def _digest_of(path: Path, modified: int, size: int) -> str:
    """Digest of a file as it was at that time; a file that cannot be read has none."""
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as data:
            return arrays_digest({name: data[name] for name in data.files})
    except Exception:  # truncated, not a zip, pickled objects: in any case not our file
        return ""
