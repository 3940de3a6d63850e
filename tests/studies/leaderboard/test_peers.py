"""MMD-FUSE and MMDAgg against slow computations of their definitions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.peers import aggregated_mmd, outside
from benchmarks.peers.aggregated_mmd import MmdAgg, MmdFuse
from benchmarks.studies import published_peers

import rdiv
from rdiv.errors import InputError
from rdiv.samples import Pool
from rdiv.studies.contracts import check_contracts

X = np.random.default_rng(0).normal(size=(24, 3))
MASKS = np.stack([np.random.default_rng(i).permutation(24) < 10 for i in range(8)])


def slow_kernels(x: np.ndarray, number: int) -> list[np.ndarray]:
    n, found = len(x), []
    for order in (1, 2):
        apart = np.array([[(np.abs(a - b) ** order).sum() ** (1 / order) for b in x] for a in x])
        above = np.sort(apart[np.triu_indices(n, 1)])
        low, high = (above[int(share * (len(above) - 1))] for share in (0.05, 0.95))
        for i in range(number):
            width = low / 2 + (2 * high - low / 2) * i / (number - 1)
            scaled = apart / width
            found.append(np.exp(-np.sqrt(2) * scaled if order == 1 else -(scaled**2) / 2))
    return found


def slow_mmd(kernel: np.ndarray, is_p: np.ndarray) -> float:
    p, q = np.flatnonzero(is_p), np.flatnonzero(~is_p)
    within_p = np.mean([kernel[i, j] for i in p for j in p if i != j])
    within_q = np.mean([kernel[i, j] for i in q for j in q if i != j])
    return float(within_p + within_q - 2 * np.mean([kernel[i, j] for i in p for j in q]))


def slow_fuse(kernels: list[np.ndarray], is_p: np.ndarray, released: bool) -> float:
    n = min(is_p.sum(), (~is_p).sum())
    pairs, terms = n * (n - 1), []
    for kernel in kernels:
        off = kernel[~np.eye(len(kernel), dtype=bool)]
        size = (off**2).sum() / pairs
        terms.append(np.sqrt(pairs) * slow_mmd(kernel, is_p) / np.sqrt(size))
    if released:
        terms = [term * np.sqrt(pairs) for term in terms]
    return float(np.log(np.mean(np.exp(terms))))


def prepared(test: Any) -> Any:
    return test.prepare(Pool(X), np.random.default_rng(0))


@pytest.mark.parametrize("released", [True, False])
def test_fuse_is_the_soft_maximum_of_normalised_mmds(released: bool) -> None:
    kernels = slow_kernels(X, 4)
    expected = [slow_fuse(kernels, mask, released) for mask in MASKS]
    found = prepared(MmdFuse(4, released=released)).statistic(MASKS)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_single_precision_is_enough_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = prepared(MmdFuse(4)).statistic(MASKS)
    monkeypatch.setattr(aggregated_mmd, "LARGE", 0)
    np.testing.assert_allclose(prepared(MmdFuse(4)).statistic(MASKS), exact, rtol=1e-3, atol=1e-4)


def test_agg_has_one_mmd_per_kernel() -> None:
    kernels = slow_kernels(X, 4)
    expected = [[slow_mmd(kernel, mask) for kernel in kernels] for mask in MASKS]
    found = prepared(MmdAgg(4)).statistic(MASKS)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_agg_ranks_the_smallest_pvalue_among_those_of_the_permutations() -> None:
    made = prepared(MmdAgg(4))
    parts = made.statistic(MASKS)
    pvalues = np.array([[np.mean(parts[:, k] >= value) for k, value in enumerate(row)]
                        for row in parts])  # fmt: skip
    order = sorted(range(8), key=lambda i: (pvalues[i].min(), np.log(pvalues[i]).sum()))
    combined = made.combine(parts)
    assert [*np.argsort(-combined, kind="stable")] == order


@pytest.mark.parametrize("test", [MmdFuse(), MmdAgg()], ids=lambda test: type(test).__name__)
def test_they_keep_the_contracts_and_find_a_shift(test: Any) -> None:
    check_contracts(test)
    rng = np.random.default_rng(2)
    p, q = rng.normal(size=(2, 60, 2))
    assert rdiv.two_sample_test(p, q + 1.0, test, n_resamples=99, rng=0).pvalue == 0.01
    same = np.ones((12, 2))
    assert rdiv.two_sample_test(same, same, test, n_resamples=39, rng=0).pvalue == 1.0


ANSWERS = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["seed"] < 0:
        break
    share = (len(asked["p"]) + asked["b"]) / 1000
    print(json.dumps({"pvalue": share, "seconds": 0.5}), flush=True)
"""


def test_a_test_of_another_package_answers_from_its_own_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "worker.py").write_text(ANSWERS)
    monkeypatch.setattr(outside, "WORKER", tmp_path / "worker.py")
    monkeypatch.setattr(outside, "environment", lambda *given: Path(sys.executable))
    outside._worker.cache_clear()
    try:
        ask = outside.HyppoDcorr().pvalue
        assert [ask(X[:n], X[n:], 199, 1) for n in (1, 10)] == [(0.2, 0.5), (0.209, 0.5)]
        with pytest.raises(InputError, match="ended before it answered"):
            ask(X[:5], X[5:], 199, -1)
    finally:
        outside._worker.cache_clear()


def test_a_package_that_cannot_be_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "environment", lambda *given: None)
    outside._worker.cache_clear()
    with pytest.raises(InputError, match="hyppo cannot be installed here"):
        outside.HyppoDcorr().pvalue(X[:5], X[5:], 199, 1)


def test_published_cells_are_counted_with_these_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published_peers, "ROWS", 30)
    key: dict[str, Any] = {"cell": "mixture, spread 0.6", "draw": 3, "resamples": 39, "seed": 7}
    found = published_peers.one_draw(key)
    p, q = published_peers.CELLS[key["cell"]][0].draw(30, np.random.default_rng([7, 0, 3]))
    tests = {
        "MMD-FUSE": MmdFuse(),
        "MMD-FUSE, formula": MmdFuse(released=False),
        "MMDAgg": MmdAgg(),
    }
    assert found == {
        name: round(rdiv.two_sample_test(p, q, test, n_resamples=39, rng=3).pvalue, 4)
        for name, test in tests.items()
    }
