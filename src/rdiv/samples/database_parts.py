"""A table or query of an SQLite file as a table in partitions, by the standard library."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

from rdiv.errors import InputError, MissingFileError, naming
from rdiv.samples.files import DATABASES
from rdiv.samples.partition_files import BLOCK_ROWS, Named, need_polars

__all__ = ["is_query", "query_parts"]

_ADVICE = "check the query, and that the file is an SQLite database"


def is_query(source: str) -> bool:
    """Whether a source names a query, or a table, of an SQLite file: ``FILE.db::QUERY``.

    Examples
    --------
    >>> print(is_query("shop.db::select * from orders"), is_query("rows.npz::p"))
    True False
    """
    file, mark, _ = source.partition("::")
    return bool(mark) and file.lower().endswith(DATABASES)


def query_parts(source: str) -> list[Named]:
    """One part: the rows of the query, which is run anew whenever they are read.

    A query is read once to find the types of its columns, as SQLite has them cell by cell: those
    with text anywhere are text, and those with a fraction anywhere are floats.
    """
    file, _, query = source.partition("::")
    query = query.strip()
    if not query:
        raise InputError(f"{source} names no query; write {file}::TABLE or {file}::'select ...'.")
    if not os.path.isfile(file):
        raise MissingFileError(f"there is no file {file}; check the path.")
    query = f'select * from "{query}"' if query.isidentifier() else query
    pl = need_polars()
    kinds = [pl.Null, pl.Int64, pl.Float64, pl.String]
    types: dict[str, Any] = {}
    with naming(f"reading {source}", _ADVICE):
        for frame in _blocks(file, query, None):
            for name, kind in frame.schema.items():
                known = types.setdefault(name, kind)
                if kind != known:
                    both = {kind, known} <= set(kinds)
                    types[name] = max(kind, known, key=kinds.index) if both else pl.String
    return [(source, partial(_blocks, file, query, types))]


def _blocks(file: str, query: str, types: dict[str, Any] | None) -> Iterator[Any]:
    """Frames of the rows of a query; the file is opened for reading only."""
    import sqlite3
    from contextlib import closing

    pl = need_polars()
    address = f"file:{quote(os.path.abspath(file))}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as base:
        found = base.execute(query)
        names = [column[0] for column in found.description or ()]
        while rows := found.fetchmany(BLOCK_ROWS):
            yield pl.DataFrame(
                rows, schema=types or names, orient="row", strict=False, infer_schema_length=None
            )
