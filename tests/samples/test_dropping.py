"""Columns left out of both samples: any library, pairs, and clear errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rdiv.errors import InputError
from rdiv.samples.dropping import drop_columns

LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
every_library = pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)


def columns(frame: Any) -> list[str]:
    return list(getattr(frame, "column_names", None) or frame.columns)


@every_library
def test_columns_are_left_out(make: Any) -> None:
    p, q = make({"a": [1, 2], "b": [3, 4], "y": [5, 6]}), make({"a": [1, 2], "y": [5, 6]})
    new_p, new_q = drop_columns(p, q, ["b", "a", "b"], {"target": "y", "groups": None})
    assert columns(new_p) == columns(new_q) == ["y"]
    assert type(new_p) is type(p)
    assert columns(p) == ["a", "b", "y"]
    only_p, same_q = drop_columns(p, q, "b", {})
    assert columns(only_p) == columns(q)
    assert same_q is q
    for nothing in ((), [], set()):
        assert drop_columns(p, q, nothing, {})[0] is p


def test_the_index_of_pandas_stays() -> None:
    p = pd.DataFrame({"a": [1, 2], "b": [3, 4]}, index=[7, 7])
    assert drop_columns(p, p, "b", {})[0].index.tolist() == [7, 7]


@every_library
def test_pairs_keep_their_target(make: Any) -> None:
    p = make({"a": [1, 2], "b": [3, 4]}), np.array([0, 1])
    new, _ = drop_columns(p, p, "b", {})
    assert columns(new[0]) == ["a"]
    assert new[1] is p[1]


P = pl.DataFrame({"date": [1, 2], "price": [3, 4]})
WRONG: list[tuple[tuple[Any, ...], str]] = [
    ((P, P, "dat", {}), "drop= must name .*, found 'dat' in neither; did you mean 'date'\\?"),
    ((P, P, "zzz", {}), "found 'zzz' in neither; check the name\\.$"),
    ((P, P, "price", {"target": "price"}), "cannot leave out 'price', the target column; drop"),
    ((P, P, "price", {"loss": None, "strata": "price"}), "the strata column; .*change strata=\\."),
    ((P, P, ["price"], {"prediction": {0: "price"}}), "the prediction \\(0\\) column; .* predict"),
    ((P, P, ["date", "price"], {}), "drop= leaves no column in p; keep at least one"),
    ((P, P.select("date"), "date", {}), "drop= leaves no column in q"),
    ((np.zeros((2, 2)), np.zeros((2, 2)), "a", {}), "drop= names columns of a frame, got arrays"),
    (((np.zeros((2, 2)), [0, 1]), P, "a", {}), "drop= names columns of a frame, got arrays"),
    (("file.csv", P, "date", {}), "p must be an array.*read the file first"),
    ((P, P, 3, {}), "drop must be the name of a column or a list of names, got 3"),
    ((P, P, None, {}), "drop must be .* got None"),
    ((P, P, ["date", 3], {}), "drop must be .* got 3 among them"),
    ((P, P, {"date": 1}, {}), "drop must be"),
    ((P, P, iter(["date"]), {}), "drop must be .* a list_iterator"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "sentence"), WRONG, ids=range(len(WRONG)))
def test_wrong_columns(given: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        drop_columns(*given)


def test_repeated_columns_of_pandas() -> None:
    twice = pd.DataFrame(np.ones((2, 2)), columns=["a", "a"])
    with pytest.raises(InputError, match="column names must be unique"):
        drop_columns(twice, twice, "a", {})
