"""Tables in partitions: the same rows as the whole table, and every fault names its partition."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import rdiv
from rdiv.errors import InputError, InputTypeError, MissingFileError
from rdiv.samples import csv_parts, partition_files
from rdiv.samples.partitions import Partitions, as_partitions, scan

RNG = np.random.default_rng(0)
FRAME = pl.DataFrame(
    {
        "a": RNG.normal(size=50),
        "b": RNG.integers(0, 9, 50),
        "c": [None if k % 7 == 0 else f"w{k % 3}, \"x\"\n{k}" for k in range(50)],
        "d": pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 2, 19), eager=True),
    }
)  # fmt: skip


def whole(table: Partitions | None) -> pl.DataFrame:
    assert table is not None
    frames = [pl.DataFrame(frame) for frame in table.frames()]
    return pl.concat(frames)


def thirds() -> list[pl.DataFrame]:
    return [FRAME[:20], FRAME[20:21], FRAME[21:]]


def write(frame: pl.DataFrame, path: Path) -> None:
    form = path.name.partition(".")[2]
    if form == "parquet":
        frame.write_parquet(path)
    elif form == "feather":
        frame.write_ipc(path)
    elif form == "jsonl":
        frame.write_ndjson(path)
    elif form == "csv.gz":
        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    else:
        frame.write_csv(path, separator="\t" if form == "tsv" else ",")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_parts, "PIECE_BYTES", 200)


@pytest.mark.parametrize("form", ["parquet", "feather", "csv", "csv.gz", "tsv"])
def test_a_directory_a_pattern_and_a_file_are_the_table(tmp_path: Path, form: str) -> None:
    for number, part in enumerate(thirds()):
        write(part, tmp_path / f"{number}.{form}")
    (tmp_path / "_SUCCESS").touch()
    assert whole(scan(tmp_path)).equals(FRAME)
    assert whole(scan(f"{tmp_path}/[0-9].{form}")).equals(FRAME)
    assert whole(scan(tmp_path / f"0.{form}")).equals(FRAME[:20])


def test_csv_types_are_those_of_the_whole_table(tmp_path: Path) -> None:
    lines = ["n,i,t,m,e", *(f"{k},{k},2024-01-01,1,NA" for k in range(40)), "0.5,7,noon,,"]
    text = "\n".join(lines) + "\n"
    (tmp_path / "all.csv").write_text(text)
    expected = rdiv.read(tmp_path / "all.csv")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "1.csv").write_text("\n".join(lines[:30]) + "\n")
    (tmp_path / "parts" / "2.csv").write_text("\n".join([lines[0], *lines[30:]]))
    found = whole(scan(tmp_path / "parts"))
    assert found.schema == expected.schema
    assert found.equals(expected)


def test_folders_that_name_columns(tmp_path: Path) -> None:
    for year in (2023, 2024):
        for place in ("east", "west"):
            folder = tmp_path / f"year={year}" / f"place={place}"
            folder.mkdir(parents=True)
            pl.DataFrame({"a": [year - 2000.0]}).write_parquet(folder / "part.parquet")
    found = whole(scan(tmp_path))
    assert found.columns == ["a", "year", "place"]
    assert found["year"].to_list() == [2023, 2023, 2024, 2024]
    assert found["place"].to_list() == ["east", "west", "east", "west"]


def batches() -> Iterator[Any]:
    return iter(FRAME.drop("d").to_arrow().to_batches(max_chunksize=9))


def test_what_is_taken_as_it_is() -> None:
    import dask.dataframe as dd

    plain = FRAME.drop("d")
    assert whole(as_partitions(FRAME.lazy(), "p")).equals(FRAME)
    assert whole(as_partitions(batches, "p")).equals(plain)
    dataset = ds.dataset(plain.to_arrow())
    assert whole(as_partitions(dataset, "p")).equals(plain)
    pandas = plain.select("a", "b").to_pandas()
    spread = as_partitions(dd.from_pandas(pandas, npartitions=4), "p")
    assert spread is not None
    assert len(spread.parts) == 4
    assert pd.concat(list(spread.frames()), ignore_index=True).equals(pandas)


def test_what_is_no_partition() -> None:
    assert as_partitions(FRAME, "p") is None
    assert as_partitions(np.zeros((3, 2)), "p") is None
    assert as_partitions((np.zeros((3, 2)), np.zeros(3)), "p") is None
    with pytest.raises(InputTypeError, match="iterator, which can be read only once"):
        as_partitions(batches(), "p")


def test_large_parts_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rdiv.samples.partitions.BLOCK_ROWS", 8)
    table = as_partitions(lambda: iter([FRAME]), "p")
    assert table is not None
    assert [len(frame) for frame in table.frames()] == [8, 8, 8, 8, 8, 8, 2]
    assert whole(table).equals(FRAME)


class TestFaults:
    def test_nothing_there(self, tmp_path: Path) -> None:
        with pytest.raises(MissingFileError, match="holds no files"):
            scan(tmp_path)
        with pytest.raises(MissingFileError, match="there is no file"):
            scan(tmp_path / "a.parquet")
        with pytest.raises(MissingFileError, match="nothing fits"):
            scan(tmp_path / "*.parquet")
        with pytest.raises(InputTypeError, match="scan takes the path"):
            scan(3)  # type: ignore[arg-type]

    def test_formats(self, tmp_path: Path) -> None:
        FRAME.write_parquet(tmp_path / "a.parquet")
        FRAME.write_csv(tmp_path / "b.csv")
        with pytest.raises(InputError, match="must be of one format"):
            scan(tmp_path)
        (tmp_path / "c.xlsx").touch()
        with pytest.raises(InputError, match="cannot be read in partitions"):
            scan(tmp_path / "c.xlsx")
        with pytest.raises(InputError, match="is not parquet"):
            scan("https://example.org/table.csv")

    @pytest.mark.parametrize(
        ("other", "words"),
        [
            (FRAME.drop("a"), r"2\.parquet lacks 'a'"),
            (FRAME.with_columns(e=1), r"2\.parquet has 'e' besides"),
            (FRAME.with_columns(pl.col("b").cast(pl.String)), r"'b' is String in .*2\.parquet and"),
        ],
    )
    def test_other_columns_or_types(self, tmp_path: Path, other: pl.DataFrame, words: str) -> None:
        FRAME.write_parquet(tmp_path / "1.parquet")
        other.write_parquet(tmp_path / "2.parquet")
        with pytest.raises(InputError, match=words):
            whole(scan(tmp_path))

    def test_a_part_that_vanishes_or_is_cut_short(self, tmp_path: Path) -> None:
        for number, part in enumerate(thirds()):
            part.write_parquet(tmp_path / f"{number}.parquet")
        table = scan(tmp_path)
        frames = table.frames()
        next(frames)
        (tmp_path / "1.parquet").unlink()
        with pytest.raises(InputError, match=r"reading .*1\.parquet failed"):
            list(frames)
        FRAME.write_parquet(tmp_path / "1.parquet")
        content = (tmp_path / "2.parquet").read_bytes()
        (tmp_path / "2.parquet").write_bytes(content[: len(content) // 2])
        with pytest.raises(InputError, match=r"reading .*2\.parquet failed"):
            whole(table)

    def test_what_a_function_must_give(self) -> None:
        with pytest.raises(InputTypeError, match="must return an iterator of Arrow batches"):
            whole(as_partitions(lambda: 3, "p"))
        with pytest.raises(InputTypeError, match="must give Arrow batches or data frames"):
            whole(as_partitions(lambda: iter([1, 2]), "p"))
        with pytest.raises(InputError, match="calling the function of p failed"):
            whole(as_partitions(lambda x: iter([x]), "p"))

    def test_nothing_in_it(self) -> None:
        table = as_partitions(lambda: iter([FRAME[:0]]), "p")
        assert table is not None
        with pytest.raises(InputError, match="holds no rows"):
            table.first()


def test_addresses_go_to_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def scan_parquet(source: str) -> pl.LazyFrame:
        asked.append(source)
        return FRAME.lazy()

    monkeypatch.setattr(pl, "scan_parquet", scan_parquet)
    assert whole(scan("s3://bucket/days/*.parquet")).equals(FRAME)
    assert asked == ["s3://bucket/days/*.parquet"]
    assert partition_files.is_remote("HTTPS://x/y.parquet")


def test_a_record_batch_is_a_table() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, 2]})
    assert whole(as_partitions(lambda: iter([batch]), "p"))["a"].to_list() == [1, 2]
