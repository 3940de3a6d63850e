"""Bytes of files: one opening, the hash of what was read, a limit on what they decompress to."""

from __future__ import annotations

import gzip
import hashlib
import os
import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rdiv import read
from rdiv.errors import InputError
from rdiv.samples.files import read_recorded

FRAME = pl.DataFrame({"a": np.arange(5000.0), "b": np.arange(5000) % 3})
FORMATS = ("csv", "csv.gz", "jsonl", "parquet", "feather", "npy", "npz")


def saved(folder: Path, form: str) -> Path:
    path = folder / f"a.{form}"
    if form == "csv.gz":
        path.write_bytes(gzip.compress(FRAME.write_csv().encode()))
    elif form == "csv":
        FRAME.write_csv(path)
    elif form == "jsonl":
        FRAME.write_ndjson(path)
    elif form == "parquet":
        FRAME.write_parquet(path)
    elif form == "feather":
        FRAME.write_ipc(path, compression="lz4")
    elif form == "npy":
        np.save(path, FRAME.to_numpy())
    else:
        np.savez_compressed(path, x=FRAME.to_numpy())
    return path


@pytest.mark.parametrize("form", FORMATS)
def test_the_hash_is_of_the_bytes_that_were_read(tmp_path: Path, form: str) -> None:
    path = saved(tmp_path, form)
    content = path.read_bytes()
    found = read_recorded(path).fingerprint
    assert found == (hashlib.sha256(content).hexdigest(), len(content))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("form", ["csv", "parquet", "npy", "npz"])
def test_a_pipe_is_read_once(tmp_path: Path, form: str) -> None:
    content = saved(tmp_path, form).read_bytes()
    pipe = tmp_path / f"pipe.{form}"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,), daemon=True)
    writer.start()
    found = read_recorded(pipe)
    writer.join(10)
    assert found.fingerprint == (hashlib.sha256(content).hexdigest(), len(content))
    assert len(found.sample) == len(FRAME)


@pytest.mark.parametrize("form", ["csv.gz", "npz", "parquet", "feather"])
def test_a_file_may_not_decompress_to_more_than_the_limit(tmp_path: Path, form: str) -> None:
    path = saved(tmp_path, form)
    assert len(read(path, max_decompressed=10**6)) == len(FRAME)
    with pytest.raises(InputError, match=r"a\..* holds .*; raise max_decompressed="):
        read(path, max_decompressed=10_000)


def test_a_bomb_is_refused_before_it_is_blown_up(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    zeros = bytes(1 << 20)
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for _ in range(64):
            stream.write(zeros)
    import tracemalloc

    tracemalloc.start()
    with pytest.raises(InputError, match="more than 10 MB when decompressed"):
        read(path, max_decompressed=10**7)
    assert tracemalloc.get_traced_memory()[1] < 25e6
    tracemalloc.stop()


@pytest.mark.parametrize("most", [0, -1, 1.5, True])
def test_a_limit_that_is_no_number_of_bytes(tmp_path: Path, most: int) -> None:
    with pytest.raises(InputError, match="max_decompressed must be a whole number of bytes"):
        read(saved(tmp_path, "csv"), max_decompressed=most)
