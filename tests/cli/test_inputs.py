"""One sample from standard input, in any format that a file may have."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.cli.conftest import Run, table

from rdiv.cli.inputs import read_input

FRAME = table(40, seed=1)


class Stdin:
    """Standard input with these bytes."""

    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def written(form: str) -> bytes:
    out = io.BytesIO()
    if form == "csv":
        FRAME.write_csv(out)
    elif form == "tsv":
        FRAME.write_csv(out, separator="\t")
    elif form == "csv.gz":
        return gzip.compress(written("csv"))
    elif form == "jsonl":
        FRAME.write_ndjson(out)
    elif form == "parquet":
        FRAME.write_parquet(out)
    else:
        FRAME.write_ipc(out)
    return out.getvalue()


@pytest.mark.parametrize("form", ["csv", "tsv", "csv.gz", "jsonl", "parquet", "feather"])
def test_tables_are_known_by_their_first_bytes(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = written(form)
    monkeypatch.setattr("sys.stdin", Stdin(data))
    got = read_input("-", None, hashed=True)
    assert got.sample.equals(FRAME)
    assert got.fingerprint == (hashlib.sha256(data).hexdigest(), len(data))


def test_arrays_too(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(12.0).reshape(6, 2)
    out = io.BytesIO()
    np.save(out, x)
    monkeypatch.setattr("sys.stdin", Stdin(out.getvalue()))
    assert np.array_equal(read_input("-", None).sample, x)
    pair = io.BytesIO()
    np.savez(pair, x=x, y=x[:, 0])
    monkeypatch.setattr("sys.stdin", Stdin(pair.getvalue()))
    assert np.array_equal(read_input("-", None).sample[1], x[:, 0])


@pytest.mark.parametrize("side", [0, 1])
def test_either_side_of_a_comparison(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch, side: int
) -> None:
    pair: list[Any] = [files / "reference.csv", files / "worse.csv"]
    options = ("--target", "bought", "--model", "logistic", "--resamples", 99, "--json", "-")
    expected = run("compare", *pair, *options).out
    monkeypatch.setattr("sys.stdin", Stdin(Path(pair[side]).read_bytes()))
    pair[side] = "-"
    assert json.loads(run("compare", *pair, *options).out) == json.loads(expected)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "standard input is empty"),
        (b"a,b\n1\n", "line 2 of standard input has 1 fields"),
        (b"PAR1 broken", "standard input could not be read as parquet"),
        (b'{"a": 1}\n[2]\n', "line 2 of standard input is not a JSON object"),
    ],
)
def test_broken_input_is_one_sentence(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, words: str
) -> None:
    monkeypatch.setattr("sys.stdin", Stdin(data))
    ran = run("compare", files / "reference.csv", "-", "--target", "bought")
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert "tmp" not in ran.err


def test_polars_frame_of_one_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Stdin(b"a\n1\n2\n"))
    assert read_input("-", None).sample.equals(pl.DataFrame({"a": [1, 2]}))
