"""The door for tables in partitions gives what the door for tables in memory gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rdiv.errors import InputError, OutOfMemoryError
from rdiv.samples import memory
from rdiv.samples.partitions import Partitions, scan
from rdiv.samples.pooling import PooledSamples, pool_samples


def table(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=rows)
    frame = pl.DataFrame(
        {
            "a": a,
            "b": rng.integers(0, 4, rows),
            "c": [["x", "y", None][k] for k in rng.integers(0, 3, rows)],
            "y": np.where(a + rng.normal(size=rows) > 0, "yes", "no"),
            "z": a + rng.normal(size=rows),
            "chance": rng.uniform(size=rows),
            "group": rng.integers(0, 30, rows) + 100 * seed,
        }
    )
    return pl.concat([frame, frame[: rows // 10]])  # some rows twice


P, Q = table(300, 0), table(240, 1)


def parts(frame: Any, count: int) -> Callable[[], Iterator[Any]]:
    """A function that gives the rows in so many parts, not in their order."""
    return lambda: (frame[k::count] for k in range(count))


def same(memory: PooledSamples, unread: PooledSamples) -> None:
    assert unread.pool.in_partitions
    assert memory.entropy == unread.entropy
    assert memory.pool.task == unread.pool.task
    np.testing.assert_array_equal(memory.is_p, unread.is_p)
    np.testing.assert_array_equal(memory.pool.keys, unread.pool.keys)
    for name in ("y", "groups", "strata", "prediction", "loss", "classes"):
        own, other = getattr(memory.pool, name), getattr(unread.pool, name)
        assert (own is None) == (other is None)
        if own is not None:
            np.testing.assert_array_equal(own, other)
    np.testing.assert_array_equal(memory.reference_order(), unread.reference_order())
    assert memory.reference_stream().integers(1 << 62) == unread.reference_stream().integers(
        1 << 62
    )
    for own, other in zip(memory.pool.repeats, unread.pool.repeats, strict=True):
        order, another = np.argsort(memory.pool.repeats[0]), np.argsort(unread.pool.repeats[0])
        np.testing.assert_array_equal(own[order], other[another])


@pytest.mark.parametrize("count", [1, 7, 50])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"target": "y"},
        {"target": "z"},
        {"target": "b"},
        {"target": "y", "groups": "group"},
        {"target": "z", "strata": "b"},
        {"target": "y", "prediction": "chance"},
        {"target": "z", "prediction": "a"},
        {"loss": "chance"},
        {"target": "y", "prediction": "y2"},
    ],
    ids=str,
)
def test_the_pool_is_that_of_tables_in_memory(count: int, settings: dict[str, Any]) -> None:
    p, q = P, Q
    if settings.get("prediction") == "y2":
        p, q = (side.with_columns(y2=pl.col("y").reverse()) for side in (P, Q))
    in_memory = pool_samples(p, q, rng=3, **settings)
    unread = pool_samples(parts(p, count), parts(q, count), rng=3, keep_rows=100, **settings)
    same(in_memory, unread)


def test_numbers_are_read_as_those_of_a_table_in_memory() -> None:
    in_memory = pool_samples(P, Q, rng=0, target="y").pool
    unread = pool_samples(P.lazy(), Q.lazy(), rng=0, target="y", keep_rows=100).pool
    rows = np.random.default_rng(0).permutation(len(in_memory))[:200]
    taught = in_memory.like(in_memory.anew(rows)), unread.like(unread.anew(rows))
    np.testing.assert_array_equal(in_memory.anew(rows).matrix(), unread.anew(rows).matrix())
    np.testing.assert_array_equal(taught[0].matrix(), taught[1].at_hand().matrix())
    np.testing.assert_array_equal(
        taught[0].matrix(), taught[1].over_blocks(lambda own, pool, labels: pool.matrix(), None)
    )
    np.testing.assert_array_equal(
        taught[0].take(rows).by_kind().codes, taught[1].take(rows).by_kind().codes
    )
    assert taught[0].take(rows).x["c"].to_list() == taught[1].take(rows).x["c"].to_list()


def test_few_rows_are_read_into_memory() -> None:
    pooled = pool_samples(P.lazy(), Q.lazy(), rng=0, keep_rows=len(P) + len(Q))
    assert not pooled.pool.in_partitions
    np.testing.assert_array_equal(pooled.pool.keys, pool_samples(P, Q, rng=0).pool.keys)


def test_one_side_may_be_in_memory_and_of_another_library() -> None:
    whole = pool_samples(P, Q, rng=0, target="y")
    same(whole, pool_samples(P, Q.lazy(), rng=0, target="y", keep_rows=100))
    same(whole, pool_samples(P.to_pandas(), parts(Q, 3), rng=0, target="y", keep_rows=100))
    same(whole, pool_samples(parts(P.to_pandas(), 3), Q.to_arrow(), rng=0, target="y",
                             keep_rows=100))  # fmt: skip


@pytest.mark.parametrize(
    ("of_p", "of_q"),
    [
        (pl.Series([1, 2] * 60), pl.Series([0.5, 2.0] * 60)),
        (pl.Series([None] * 120, dtype=pl.Null), pl.Series(["u", "v"] * 60)),
        (pl.Series([date(2024, 1, 2)] * 120), pl.Series([datetime(2024, 1, 2, 3)] * 120)),
        (pl.Series([None] * 119 + [7]), pl.Series([True, False] * 60)),
        (pl.Series(["u", None] * 60, dtype=pl.Categorical), pl.Series(["u", "w"] * 60)),
    ],
    ids=["whole and halves", "missing", "dates", "late", "text"],
)
def test_types_are_agreed_as_in_memory(of_p: pl.Series, of_q: pl.Series) -> None:
    p = pl.DataFrame({"a": np.arange(120.0), "v": of_p})
    q = pl.DataFrame({"a": np.arange(120.0) + 0.5, "v": of_q})
    whole = pool_samples(p, q, rng=0)
    unread = pool_samples(parts(p, 5), parts(q, 4), rng=0, keep_rows=10)
    same(whole, unread)
    rows = np.arange(50)
    np.testing.assert_array_equal(
        whole.pool.anew(rows).matrix(), unread.pool.anew(rows).at_hand().matrix()
    )


def test_levels_of_pandas_categories_are_those_of_both_sides() -> None:
    p = pd.DataFrame({"a": np.arange(90.0), "v": pd.Categorical(["u", "w", "w"] * 30)})
    q = pd.DataFrame({"a": np.arange(90.0), "v": pd.Categorical(["z", "w", "v"] * 30)})

    def cut(frame: pd.DataFrame) -> Callable[[], Iterator[Any]]:
        return lambda: (frame.iloc[k : k + 20] for k in range(0, 90, 20))

    whole, unread = pool_samples(p, q, rng=0), pool_samples(cut(p), cut(q), rng=0, keep_rows=10)
    same(whole, unread)
    rows = np.arange(60)
    assert list(whole.pool.take(rows).x["v"].cat.categories) == list(
        unread.pool.take(rows).x["v"].cat.categories
    )


@pytest.mark.parametrize(
    ("p", "settings", "sentence"),
    [
        (np.zeros((9, 2)), {}, "the other sample must be a table too, got an array for p"),
        ((P, P["z"].to_numpy()), {}, r"must be a table too, got a pair \(X, y\) for p"),
        (P.drop("a"), {}, "'a' only in q"),
        (P, {"target": "w"}, "'w' in neither sample"),
        (P, {"groups": (np.zeros(330), np.zeros(264))}, "groups= must name a column when"),
        (P.with_columns(a=pl.lit(np.inf)), {}, "infinite values in 'a'"),
        (P, {"groups": "b"}, "a group must lie in one sample, got '0', '1', '2' and 1 more in"),
        (P.with_columns(a=pl.lit("x")), {}, "column 'a' must hold the same kind of values"),
    ],
)
def test_what_cannot_be_pooled(p: Any, settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        pool_samples(p, Q.lazy(), rng=0, keep_rows=100, **settings)


def test_lists_are_not_read_in_partitions() -> None:
    p, q = (side.with_columns(v=pl.concat_list("a", "z")) for side in (P, Q))
    with pytest.raises(InputError, match=r"column 'v' holds List.* cannot be read in partitions"):
        pool_samples(p.lazy(), q.lazy(), rng=0, keep_rows=100)


def test_keys_that_do_not_fit_are_refused_before_they_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 10_000)
    with pytest.raises(OutOfMemoryError, match=r"keys and losses of 594 rows needs at least 42\d+"):
        pool_samples(P.lazy(), Q.lazy(), rng=0, keep_rows=100)


def test_a_table_that_changes_between_two_passes_is_named() -> None:
    read = []

    def grows() -> Iterator[Any]:
        read.append(1)
        yield P if len(read) < 2 else pl.concat([P, P[:1]])

    with pytest.raises(InputError, match="p changed while it was read: it has another number"):
        pool_samples(grows, Q.lazy(), rng=0, keep_rows=100)


def test_a_file_that_vanishes_is_named(tmp_path: Any) -> None:
    for k in range(3):
        P[k::3].write_parquet(tmp_path / f"{k}.parquet")
    found = scan(tmp_path)
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(InputError, match=r"1\.parquet"):
        pool_samples(found, Q.lazy(), rng=0, keep_rows=100)


def test_a_file_that_is_cut_short_is_named(tmp_path: Any) -> None:
    for k in range(3):
        P[k::3].write_parquet(tmp_path / f"{k}.parquet")
    whole = (tmp_path / "2.parquet").read_bytes()
    (tmp_path / "2.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"2\.parquet"):
        pool_samples(scan(tmp_path), Q.lazy(), rng=0, keep_rows=100)


def test_columns_can_be_left_out() -> None:
    table = Partitions("p", ()).without(["a"]).without(["b"])
    assert table.dropped == {"a", "b"}
