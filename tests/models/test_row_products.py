"""Products whose bits belong to a row."""

from __future__ import annotations

import numpy as np
import pytest

from rdiv.models.row_products import in_full_blocks, row_products


@pytest.mark.parametrize(("d", "k"), [(1, 1), (3, 1), (7, 5), (50, 3), (129, 40)])
def test_a_product_of_rows_is_the_product(d: int, k: int) -> None:
    rng = np.random.default_rng(0)
    x, matrix = rng.normal(size=(60, d)), rng.normal(size=(d, k))
    slow = np.array(
        [[sum(a * b for a, b in zip(row, w, strict=True)) for w in matrix.T] for row in x]
    )
    np.testing.assert_allclose(row_products(x, matrix), slow, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(
        row_products(x[::2], matrix), row_products(np.asfortranarray(x), matrix)[::2]
    )
    np.testing.assert_array_equal(
        row_products(x, matrix), row_products(x, np.asfortranarray(matrix))
    )


def test_full_blocks_keep_the_rows_in_front() -> None:
    x = np.arange(10.0).reshape(5, 2)
    full = in_full_blocks(x, 4)
    assert full.shape == (8, 2)
    np.testing.assert_array_equal(full[:5], x)
    assert in_full_blocks(full, 4) is full
    assert len(in_full_blocks(x[:0], 4)) == 0
