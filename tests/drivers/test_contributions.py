"""Contributions of columns: exact on small cases, covered on simulated ones, and adding up."""

from __future__ import annotations

import json
from itertools import permutations, product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from rdiv.drivers import column_paths, contributions
from rdiv.drivers.column_groups import measure_columns
from rdiv.drivers.column_paths import used_rows, walk
from rdiv.drivers.contributions import ColumnGroup, Contributions, column_contributions
from rdiv.inference.intervals import Interval
from rdiv.results import plain

Floats = NDArray[np.float64]


def found(g, x, is_p, names=None, *, seed=0, groups=None, total=1.0, alpha=0.05):  # type: ignore[no-untyped-def]
    names = names or tuple("abcdefghij"[: x.shape[1]])
    rng = np.random.default_rng(seed)
    return column_contributions(g, x, is_p, names, alpha=alpha, rng=rng, groups=groups, total=total)


def by_name(result: Contributions) -> dict[str, ColumnGroup]:
    return {group.members[0]: group for group in result.groups}


def wavy(x: Floats) -> Floats:
    """Neither additive nor monotone, of any number of columns."""
    wave: Floats = np.sin(x[:, 0] * x[:, 1]) + x[:, 2] * (x[:, 0] > 0) + x[:, 3] ** 2 * x[:, 1]
    return wave


def exact_shapley(g, x, is_p, parts):  # type: ignore[no-untyped-def]
    """Shapley values over all pairs of rows and all orders of the parts."""
    values = np.zeros(len(parts))
    pairs = list(product(x[is_p], x[~is_p]))
    orders = list(permutations(range(len(parts))))
    for b, c in pairs:
        for order in orders:
            row = b.copy()
            for part in order:
                before = g(row[None])[0]
                row[parts[part]] = c[parts[part]]
                values[part] += g(row[None])[0] - before
    return values / len(pairs) / len(orders)


def test_many_rounds_come_to_the_exact_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_paths, "MOST_ROUNDS", 4000)
    rng = np.random.default_rng(1)
    x, is_p = rng.normal(size=(7, 5)), np.arange(7) < 3
    part_of = np.array([0, 1, 2, 3, 1])  # two matrix columns of one part
    exact = exact_shapley(wavy, x, is_p, [[0], [1, 4], [2], [3]])
    monkeypatch.setattr(column_paths, "EVALUATIONS", 10**7)
    paths = walk(wavy, x, used_rows(is_p, 4, rng), part_of, rng)
    rounds = len(paths.weights) / 6  # pairs of a round: 3 + 4 - 1
    assert rounds == 4000
    values = paths.weights @ paths.changes
    per_round = (paths.weights[:, None] * paths.changes).reshape(4000, 6, 4).sum(axis=1) * 4000
    errors = per_round.std(axis=0, ddof=1) / np.sqrt(4000)
    assert (errors < 0.05).all()
    assert np.abs((values - exact) / errors).max() < 4.5


@pytest.mark.parametrize(("n_p", "n_q"), [(50, 50), (31, 50), (80, 20), (1, 9)])
def test_contributions_add_up(n_p: int, n_q: int) -> None:
    rng = np.random.default_rng(n_p)
    x, is_p = rng.normal(size=(n_p + n_q, 4)) * 3, rng.permutation(n_p + n_q) < n_p
    result = found(wavy, x, is_p, total=0.7)
    values = wavy(x)
    gap = values[~is_p].mean() - values[is_p].mean()
    assert sum(group.contribution for group in result.groups) == pytest.approx(gap, abs=1e-12)
    assert result.correction == pytest.approx(0.7 - gap, abs=1e-12)
    assert result.groups[0].share == pytest.approx(result.groups[0].contribution / 0.7)


def test_every_row_of_a_sample_weighs_the_same() -> None:
    rng = np.random.default_rng(0)
    x, is_p = rng.normal(size=(90, 4)), np.arange(90) < 37
    paths = walk(wavy, x, used_rows(is_p, 4, rng), np.arange(4), rng)
    for side, n in enumerate((37, 53)):
        assert np.bincount(paths.places[side], paths.weights) == pytest.approx(np.full(n, 1 / n))


def test_few_evaluations_use_some_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_paths, "EVALUATIONS", 1200)  # 2 rounds of 100 pairs of 6 rows
    asked: list[int] = []

    def counted(x: Floats) -> Floats:
        asked.append(len(x))
        return wavy(x)

    x, rng = np.random.default_rng(0).normal(size=(1000, 4)), np.random.default_rng(1)
    for n_p, sizes in ((500, (100, 100)), (60, (60, 60)), (930, (100, 70)), (1, (1, 100))):
        is_p = np.arange(1000) < n_p
        p, q = used_rows(is_p, 4, rng)
        if n_p == 930:
            sizes = (70, 70)  # 100 rows of p are no multiple of 70
        assert (len(p), len(q)) == sizes
        assert is_p[p].all()
        assert not is_p[q].any()
        asked.clear()
        walk(counted, x, (p, q), np.arange(4), rng)
        assert sum(asked) <= 1200 + sum(sizes)


def test_the_same_seed_gives_the_same_bytes() -> None:
    x, is_p = np.random.default_rng(0).normal(size=(300, 4)), np.arange(300) < 120
    first, again = (json.dumps(plain(found(wavy, x, is_p).fields())) for _ in range(2))
    assert first == again


def additive(x: Floats) -> Floats:
    values: Floats = x[:, 0] + 0.5 * x[:, 1] ** 2 + 2 * (x[:, 2] > 0.3)
    return values


def draws(rng: np.random.Generator, n_p: int, n_q: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Independent columns; the first two have moved."""
    x, is_p = rng.normal(size=(n_p + n_q, 4)), np.arange(n_p + n_q) < n_p
    x[~is_p, 0] += 0.2
    x[~is_p, 1] *= 1.3
    return x, is_p


ADDITIVE_TRUTH = {"a": 0.2, "b": 0.5 * (1.3**2 - 1), "c": 0.0, "d": 0.0}


def covers(hits: int, n: int) -> bool:
    """Whether a count agrees with 95 %; by chance 1 in 500 does not (.92 to .98 for n = 500)."""
    return bool(binom.ppf(1e-3, n, 0.95) <= hits <= binom.isf(1e-3, n, 0.95))


@pytest.mark.parametrize(
    ("n_p", "n_q", "evaluations"),
    [(200, 200, 200_000), (150, 400, 200_000), (300, 300, 3600), (300, 300, 1200)],
    ids=["many rounds", "unequal sizes", "two rounds", "some rows"],
)
def test_coverage_for_an_additive_loss(
    n_p: int, n_q: int, evaluations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(column_paths, "EVALUATIONS", evaluations)
    monkeypatch.setattr(column_paths, "MOST_ROUNDS", 4)
    n, hits = 500, dict.fromkeys("abc", 0)
    for draw in range(n):
        x, is_p = draws(np.random.default_rng([1, draw]), n_p, n_q)
        groups = by_name(found(additive, x, is_p, seed=draw))
        assert groups["d"].interval == (0.0, 0.0)  # g does not use it
        for name in hits:
            low, high = groups[name].interval or (np.nan, np.nan)
            hits[name] += low <= ADDITIVE_TRUTH[name] <= high
    assert {name: count for name, count in hits.items() if not covers(count, n)} == {}


def product_loss(x: Floats) -> Floats:
    values: Floats = (1 + x[:, 0]) * (1 + x[:, 1])
    return values


@pytest.mark.parametrize("rounds", [2, 8])
def test_coverage_with_an_interaction(rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Means m_j -> m_j': a's Shapley value is (a' - a) times the mean of 1 + b and 1 + b'."""
    monkeypatch.setattr(column_paths, "MOST_ROUNDS", rounds)
    truth = {"a": 0.3 * (1 + 1.5) / 2, "b": 0.5 * (1 + 1.3) / 2}
    n, hits = 500, dict.fromkeys(truth, 0)
    for draw in range(n):
        rng = np.random.default_rng([2, draw])
        x, is_p = rng.normal(size=(240, 2)), np.arange(240) < 100
        x[~is_p] += [0.3, 0.5]
        for name, group in by_name(found(product_loss, x, is_p, seed=draw)).items():
            low, high = group.interval or (np.nan, np.nan)
            hits[name] += low <= truth[name] <= high
    assert {name: count for name, count in hits.items() if not covers(count, n)} == {}


def test_coverage_for_groups_of_rows() -> None:
    """Rows of a group share most of column a: intervals for single rows are far too short."""
    n, hits, naive = 500, 0, 0
    for draw in range(n):
        rng = np.random.default_rng([3, draw])
        groups, is_p = np.repeat(np.arange(80), 5), np.repeat(np.arange(80) < 40, 5)
        x = rng.normal(size=(400, 2))
        x[:, 0] = 0.3 * x[:, 0] + rng.normal(size=80)[groups] + 0.4 * ~is_p
        for codes in (groups, None):
            group = by_name(found(lambda x: x[:, 0] + x[:, 1], x, is_p, groups=codes))["a"]
            low, high = group.interval or (np.nan, np.nan)
            hits += codes is not None and low <= 0.4 <= high
            naive += codes is None and low <= 0.4 <= high
    assert covers(hits, n)
    assert naive < 0.8 * n


def test_correlated_columns_are_one_group_with_the_right_sum() -> None:
    """Current follows the first column; its twin only goes along."""
    n, hits = 500, 0
    for draw in range(n):
        rng = np.random.default_rng([4, draw])
        x, is_p = rng.normal(size=(500, 3)), np.arange(500) < 250
        x[:, 0] += 0.5 * ~is_p
        x[:, 2] = 0.9 * x[:, 0] + np.sqrt(1 - 0.81) * x[:, 2]
        group = found(lambda x: x[:, 0] - x[:, 1] + x[:, 2], x, is_p, seed=draw).groups[0]
        assert set(group.members) == {"a", "c"}
        low, high = group.interval or (np.nan, np.nan)
        hits += low <= 0.5 * 1.9 <= high
    assert covers(hits, n)


def test_associations_of_columns_of_every_kind() -> None:
    rng = np.random.default_rng(0)
    n = 3000
    age, other = rng.normal(size=n), rng.normal(size=n)
    level = np.digitize(age, [-0.7, 0.7])
    missing = rng.random(n) < 0.2
    seen = np.where(missing, 0.0, other)
    kind = [level == 0, level == 1, level == 2]
    mixed = 0.6 * age + 0.8 * other
    x = np.stack([age, mixed, age**2, seen, missing, *kind, rng.random(n), np.ones(n)], axis=1)
    owners = ("age", "mixed", "square", "other", "other", *["kind"] * 3, "alone", "constant")
    columns = measure_columns(x, owners)
    assert columns.names == ("age", "mixed", "square", "other", "kind", "alone", "constant")
    table = columns.association(range(7))
    near = {(0, 1): 0.57, (0, 2): 0.97, (0, 4): 0.97, (1, 3): 0.68}
    for pair, value in near.items():
        assert table[pair] == pytest.approx(value, abs=0.06)
    assert table[5].tolist() == pytest.approx([0, 0, 0, 0, 0, 1, 0], abs=0.06)
    assert not table[6].any()
    assert columns.together(range(7)) == ((0, 2, 4), (1, 3), (5,), (6,))
    moved = columns.moved(other > 0)
    assert np.argmax(moved) == 3
    assert moved[[0, 2, 4, 5, 6]] == pytest.approx(np.zeros(5), abs=0.06)


def test_members_that_moved_most_come_first() -> None:
    rng = np.random.default_rng(0)
    x, is_p = rng.normal(size=(2000, 3)), np.arange(2000) < 1000
    x[:, 2] += 1.0 * ~is_p
    x[:, 0] = 0.7 * x[:, 2] + 0.7 * x[:, 0]
    result = found(lambda x: x[:, 0], x, is_p)
    assert [group.members for group in result.groups] == [("c", "a"), ("b",)]


def test_levels_of_a_column_move_together() -> None:
    rng = np.random.default_rng(0)
    is_p = np.arange(800) < 400
    level = rng.integers(3, size=800)
    level[~is_p & (rng.random(800) < 0.5)] = 2
    x = np.stack([rng.normal(size=800), *(level == k for k in range(3))], axis=1)
    seen: list[Floats] = []

    def g(rows: Floats) -> Floats:
        seen.append(rows[:, 1:].sum(axis=1))
        value: Floats = 3 * rows[:, 3] + rows[:, 0]
        return value

    result = found(g, x, is_p, ("size", "kind", "kind", "kind"))
    assert [group.name for group in result.groups] == ["kind", "size"]
    assert np.unique(np.concatenate(seen)).tolist() == [1.0]  # never half of one level
    assert result.groups[0].contribution == pytest.approx(
        3 * ((level[~is_p] == 2).mean() - (level[is_p] == 2).mean())
    )


def test_of_many_columns_those_that_matter_are_named() -> None:
    rng = np.random.default_rng(0)
    x, is_p = rng.normal(size=(800, 150)), np.arange(800) < 400
    x[~is_p, 140] += 0.6
    names = tuple(f"c{j}" for j in range(150))
    result = found(lambda x: x[:, 140] + 0.3 * x[:, 7:90].sum(axis=1), x, is_p, names)
    assert result.groups[0].name == "c140"
    others = next(group for group in result.groups if group.others)
    assert others.name == f"{len(others.members)} other columns"
    assert sorted(name for group in result.groups for name in group.members) == sorted(names)
    assert sum(len(group.members) for group in result.groups if not group.others) == (
        contributions.MOST_COLUMNS
    )
    low, high = result.groups[0].interval or (0, 0)
    assert low < 0.6 < high


def test_one_column_and_one_row() -> None:
    one = found(lambda x: x[:, 0], np.array([[1.0], [4.0], [6.0]]), np.array([True, False, False]))
    assert one.groups == (ColumnGroup(("a",), 4.0, None, 4.0),)
    flat = found(lambda x: 0 * x[:, 0], np.arange(8.0)[:, None], np.arange(8) < 4, total=0.0)
    assert flat.groups == (ColumnGroup(("a",), 0.0, Interval(0.0, 0.0), None),)
    assert flat.lines() == ["a: +0 of the inputs part (+0 to +0)"]


def test_words_and_fields() -> None:
    groups = tuple(
        ColumnGroup((f"c{j}",), 0.1 / (j + 1), Interval(0.0, 0.25), None) for j in range(7)
    )
    many = ColumnGroup(tuple("abcdefg"), 0.5, None, 0.5)
    result = Contributions((many, *groups), -0.0625, 1.0)
    lines = result.lines()
    assert lines[0] == "a (with b, c, d, e and 2 more): +0.5 of the inputs part"
    assert lines[1] == "c0: +0.1 of the inputs part (+0 to +0.25)"
    assert lines[-2] == "all 3 other columns together: +0.051 of the inputs part"
    assert lines[-1].startswith("-0.0625 could not be assigned to a single column: ")
    assert many.name == "a, b, c, d and 3 more"
    assert Contributions(groups, 1e-5, 0.2).lines()[-1].startswith("all 2 other columns")
    document = json.loads(json.dumps(plain(result.fields())))
    assert document["groups"][0]["members"] == list("abcdefg")
    assert document["groups"][1]["interval"] == {"low": 0.0, "high": 0.25}
    assert document["correction"] == -0.0625
