"""Arrays of npy and npz files; pickled objects are never loaded."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from rdiv.errors import InputError
from rdiv.names import suggestion
from rdiv.samples.csv_files import damaged
from rdiv.samples.file_bytes import check_decompressed

__all__ = ["read_npy", "read_npz"]


def read_npy(stream: IO[bytes], file: Path) -> Any:
    """The array of an npy file."""
    try:
        return np.lib.format.read_array(stream, allow_pickle=False)
    except MemoryError:
        raise
    except Exception as error:
        _broken_array(file, "npy", error)


def read_npz(stream: IO[bytes], file: Path, name: str | None, most: int) -> Any:
    """One array of an npz file, or its pair of x and y; at most so many bytes of them."""
    try:
        with zipfile.ZipFile(stream) as archive:
            sizes = {
                member.filename.removesuffix(".npy"): member.file_size
                for member in archive.infolist()
            }
    except Exception as error:
        damaged(file, "npz", error)
    chosen = _choose([*sizes], name, file)
    check_decompressed(sum(sizes[key] for key in chosen), file, most)
    stream.seek(0)
    try:
        with np.load(stream, allow_pickle=False) as arrays:
            loaded = [np.asarray(arrays[key]) for key in chosen]
    except MemoryError:
        raise
    except Exception as error:
        _broken_array(file, "npz", error)
    return loaded[0] if len(loaded) == 1 else tuple(loaded)


def _choose(names: list[str], name: str | None, file: Path) -> list[str]:
    """Which arrays of an archive to load."""
    if name is not None and name in names:
        return [name]
    if name is not None:
        near = suggestion(name, names) or f"choose one of them with {file}::NAME."
        raise InputError(f"{file} has no array {name!r}, it holds {', '.join(names)}; {near}")
    if set(names) in ({"x", "y"}, {"X", "y"}):
        return sorted(names, key=str.lower)
    if len(names) == 1:
        return names
    if not names:
        raise InputError(f"{file} holds no arrays; check how it was written.")
    raise InputError(
        f"{file} holds several arrays ({', '.join(names)}); choose one with {file}::{names[0]}."
    )


def _broken_array(file: Path, kind: str, error: Exception) -> NoReturn:
    if "allow_pickle" in str(error):
        raise InputError(
            f"{file} holds pickled Python objects, which rdiv never loads because they can run "
            "code; save plain arrays of numbers."
        ) from None
    damaged(file, kind, error)
