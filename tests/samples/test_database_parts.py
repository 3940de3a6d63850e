"""A table or a query of an SQLite file is a table in partitions."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

import rdiv
from rdiv.errors import InputError
from rdiv.samples import database_parts


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Rows in blocks of four; a column is empty, whole or text in the first of them."""
    monkeypatch.setattr(database_parts, "BLOCK_ROWS", 4)
    file = tmp_path / "shop.db"
    rows = [
        (k, k / 2, None if k < 5 else "x", k if k < 6 else k + 0.5, 2024 + k % 2) for k in range(10)
    ]
    with closing(sqlite3.connect(file)) as base:
        base.execute("create table orders (id integer, price real, note text, loose, year integer)")
        base.executemany("insert into orders values (?, ?, ?, ?, ?)", rows)
        base.commit()
    return file


def test_types_are_those_of_all_blocks(shop: Path) -> None:
    table = rdiv.scan(f"{shop}::orders")
    kinds = [pl.Int64, pl.Float64, pl.String, pl.Float64, pl.Int64]
    assert [len(frame) for frame in table.frames()] == [4, 4, 2]
    assert all(frame.dtypes == kinds for frame in table.frames())
    whole = table.whole()
    assert whole["note"].null_count() == 5
    assert whole["loose"].to_list() == [0, 1, 2, 3, 4, 5, 6.5, 7.5, 8.5, 9.5]


def test_a_query_is_run_anew_and_changes_nothing(shop: Path) -> None:
    table = rdiv.scan(f"{shop}::select id, price from orders where year = 2025")
    assert table.columns == ["id", "price"]
    for _ in range(2):
        assert table.whole()["id"].to_list() == [1, 3, 5, 7, 9]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "names no query; write .*::TABLE or"),
        ("nothing", "no such table: nothing.*; check the query"),
        ("delete from orders", "attempt to write a readonly database"),
        ("select * from orders where year = 1", "holds no rows"),
    ],
)
def test_refusals(shop: Path, query: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        rdiv.scan(f"{shop}::{query}").whole()
    assert len(rdiv.scan(f"{shop}::orders").whole()) == 10


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no file"):
        rdiv.scan(f"{tmp_path}/none.db::orders")


def test_a_database_without_a_table_is_refused_with_what_to_write(tmp_path: Path) -> None:
    (tmp_path / "shop.db").write_bytes(b"")
    with pytest.raises(ValueError, match=r"is a database; name one of its tables.*::TABLE"):
        rdiv.read(tmp_path / "shop.db")
