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


def test_directories_patterns_and_large_files_are_read_in_partitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rdiv.cli import inputs
    from rdiv.samples.partitions import Partitions

    for k in range(2):
        FRAME[20 * k : 20 * (k + 1)].write_parquet(tmp_path / f"{k}.parquet")
    file = str(tmp_path / "0.parquet")
    for source in (str(tmp_path), str(tmp_path / "*.parquet")):
        found = read_input(source, None)
        assert isinstance(found.sample, Partitions)
        assert found.sample.whole().equals(FRAME)
        assert found.fingerprint is None
    assert not isinstance(read_input(file, None, large=True).sample, Partitions)
    monkeypatch.setattr(inputs, "LARGE_FILE", 10)
    assert isinstance(read_input(file, None, large=True).sample, Partitions)
    assert not isinstance(read_input(file, None).sample, Partitions)


def test_a_directory_gives_the_result_of_its_rows_in_one_file(run: Run, tmp_path: Path) -> None:
    reference, current = tmp_path / "reference", tmp_path / "current.parquet"
    reference.mkdir()
    whole = table(300, seed=1)
    whole.write_parquet(tmp_path / "whole.parquet")
    table(280, seed=2).write_parquet(current)
    for k in range(3):
        whole[100 * k : 100 * (k + 1)].write_parquet(reference / f"{k}.parquet")
    more = ["--model", "gmm", "--resamples", "99", "--sample-rows", "150", "--fit-rows", "200"]
    found = [
        run("compare", str(source), str(current), *more, "--json", "-")
        for source in (tmp_path / "whole.parquet", reference)
    ]
    assert [one.code for one in found] == [0, 0], found[1].err
    assert found[0].out == found[1].out
    (reference / "1.parquet").write_bytes(b"PAR1 and no more")
    broken = run("compare", str(reference), str(current), *more, "--json", str(tmp_path / "a.json"))
    assert broken.code == 2
    assert "1.parquet" in broken.err
    assert len(broken.err.splitlines()) == 1
    assert not (tmp_path / "a.json").exists()
