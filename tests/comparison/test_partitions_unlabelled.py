"""Tables in partitions whose current rows lack labels, all of them or some: the same bytes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.comparison.cut_tables import SETTINGS, P, Q, parts, without_places

import rdiv
from rdiv.comparison import asked
from rdiv.comparison import expected as expected_losses
from rdiv.comparison.models import choose_models
from rdiv.comparison.unlabelled import learn_expected
from rdiv.discrepancies import InUse
from rdiv.errors import InputError
from rdiv.inference import tiles
from rdiv.samples.partition_pooling import surveyed, tables_of
from rdiv.samples.partitioned import PartitionedRows
from rdiv.samples.pooling import PooledSamples, pool_surveyed
from rdiv.two_sample import part_of_reference, split_reference

ROW = pl.int_range(pl.len())
SOME = Q.with_columns(y=pl.when(ROW % 3 == 0).then(pl.col("y")))
WHOLE = (pl.col("y") > 0).cast(int)

CASES: dict[str, tuple[pl.DataFrame, pl.DataFrame, dict[str, Any]]] = {
    "none": (P, Q.drop("y"), {}),
    "fewer than ten": (P, Q.with_columns(y=pl.when(ROW < 5).then("y").otherwise(np.nan)), {}),
    "groups": (P, Q.drop("y"), {"groups": "group"}),
    "strata": (P, Q.drop("y"), {"strata": "b"}),
    "logged predictions": (P, Q.drop("y"), {"model": None, "prediction": "a"}),
    "logged losses": (
        P.with_columns(pl.col("y").abs()),
        Q.drop("y"),
        {"model": None, "target": None, "loss": "y", "drop": ["c"]},
    ),
    "classes": (P.with_columns(y=WHOLE), Q.drop("y"), {"model": "logistic"}),
    "some": (P, SOME, {}),
    "some, few enough": (P, SOME, {"sample_rows": 1000}),
    "some, as floats": (
        P.with_columns(y=WHOLE),
        SOME.with_columns(y=WHOLE.cast(float)),
        {"model": "logistic", "groups": "group"},
    ),
    "some, logged predictions": (P, SOME, {"model": None, "prediction": "a"}),
}


@pytest.mark.parametrize("name", CASES)
def test_cuts_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "TILE_ROWS", 256)
    monkeypatch.setattr(expected_losses, "MOST_ROWS", 300)  # that a regression is fitted to
    monkeypatch.setattr(asked, "INPUT_ROWS", 150)  # of each side in the test of the inputs
    gathered, most = PartitionedRows._gathered, []

    def counted(rows: PartitionedRows) -> Any:
        most.append(len(rows))
        return gathered(rows)

    p, q, more = CASES[name]
    whole = name in ("none", "some")
    settings = {**SETTINGS, "drivers": whole, **more}
    expected = rdiv.compare(p, q, **settings)
    assert expected.labels == ("some" if name.startswith("some") else "none")
    monkeypatch.setattr(PartitionedRows, "_gathered", counted)
    for count in (1, 7) if whole else (7,):
        found = rdiv.compare(parts(p, count), parts(q, count), **settings)
        assert found.to_json() == expected.to_json()
    assert 0 < max(most) <= settings["sample_rows"]


@pytest.mark.parametrize("name", ["none", "some"])
def test_the_order_of_rows_and_files_changes_nothing_but_places(name: str) -> None:
    p, q, _ = CASES[name]
    expected = rdiv.compare(p, q, **SETTINGS)
    found = rdiv.compare(parts(p, 7, seed=1), parts(q, 5, seed=2), **SETTINGS)
    assert without_places(found) == without_places(expected)


def test_what_was_looked_at_is_said() -> None:
    p, q, _ = CASES["none"]
    settings = {**SETTINGS, "drop": "group"}
    found = rdiv.compare(p, q, **settings)
    rows = len(p) + len(q)
    assert found.notes["sample rows"] == (
        f"the expected gap, inputs and drivers looked at 400 of {rows} rows; the test is that of "
        "all rows"
    )
    assert found.notes["fit rows"].startswith("the model in use was fitted to 300 of 367 rows")
    whole = rdiv.compare(p, q, **{**settings, "sample_rows": rows})
    assert "sample rows" not in whole.notes
    for one in (found, whole):  # an estimate of the same gap from fewer rows
        assert one.gap is not None
        assert one.gap_interval is not None
    assert abs(found.gap - whole.gap) < found.gap_interval.high - found.gap_interval.low
    np.testing.assert_array_equal(
        whole.results["in-use"].null_distribution, found.results["in-use"].null_distribution
    )


def test_rows_that_lists_name_have_their_places_in_the_table() -> None:
    p, q, _ = CASES["some"]
    found = rdiv.compare(p, q, **SETTINGS)
    assert found.drivers is not None
    named = [row.index for row in found.drivers.rows if row.sample == "current"]
    assert named
    assert all(place % 3 == 0 for place in named)  # those that have labels


def blind(p: pl.DataFrame, q: pl.DataFrame) -> PooledSamples:
    tables = tables_of(parts(p, 2), parts(q, 3))
    assert tables is not None
    sides = surveyed(tables, 100, ("y",))
    return pool_surveyed(*sides, "none", target="y", task="regression", rng=0).pooled


def test_rows_exchanged_between_reference_and_current_keep_their_numbers() -> None:
    """The swap test: A passed in, no number of any row depends on where the row came from."""
    everything = pl.concat([P, Q]).drop("group").unique(maintain_order=True)
    n_p = 600
    first = blind(everything[:n_p], everything[n_p:].drop("y"))
    part = part_of_reference(first, 0.5)
    in_part = set(np.asarray(first.places[part]).tolist())
    free = [row for row in range(n_p) if row not in in_part]
    chosen = np.array(free[:90] + list(range(n_p, n_p + 90)))
    order = np.arange(len(everything))
    order[chosen] = order[chosen][::-1]
    other = blind(everything[order[:n_p]], everything[order[n_p:]].drop("y"))
    assert (other.is_p != first.is_p).any()
    np.testing.assert_array_equal(first.looked_at(300).rows, other.looked_at(300).rows)
    numbers = []
    for pooled in (first, other):
        used, _ = choose_models("ridge", folds=2, supervised=True, retrain="same").settled(
            pooled.pool
        )
        split = split_reference(pooled, 0.5, part, fit_rows=200)
        test = learn_expected(InUse(used, fit_rows=200), split)
        numbers.append(test.g.of(split.tested.pool))
    assert numbers[0].tobytes() == numbers[1].tobytes()
    assert pickle.loads(pickle.dumps(test.g.of_features))  # workers get it


@pytest.mark.parametrize(
    ("p", "q", "more", "said"),
    [
        (P.with_columns(y=pl.when(ROW > 9).then("y")), Q.drop("y"), {}, "got 10 of 735; only curr"),
        (P.drop("y"), Q, {}, "the target column must be in the reference, found 'y' only in curr"),
        (P, Q.drop("y", "a"), {}, "must have the same columns"),
        (P[:60], Q.drop("y"), {"sample_rows": 100}, "30 rows here, fewer than 50"),
        (
            pl.DataFrame({"y": np.arange(300.0)}),
            pl.DataFrame({"y": [None] * 300}, schema={"y": pl.Float64}),
            {"target": None, "loss": "y", "model": None},
            "there are no inputs to expect one from",
        ),
    ],
)
def test_refusals(p: Any, q: Any, more: dict[str, Any], said: str) -> None:
    settings = {**SETTINGS, "sample_rows": 300, **more}
    for sides in ((p, q), (parts(p, 2), parts(q, 2))):
        with pytest.raises(InputError, match=said):
            rdiv.compare(*sides, **settings)


def test_too_few_compared_rows_among_those_looked_at() -> None:
    current = pl.concat([Q.drop("y")] * 20)
    with pytest.raises(InputError, match="too few of one of them; raise sample_rows"):
        rdiv.compare(parts(P[:104], 2), parts(current, 2), **{**SETTINGS, "sample_rows": 100})
