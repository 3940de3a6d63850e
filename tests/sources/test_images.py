"""What sources of images share."""

from __future__ import annotations

import numpy as np
import pytest

from rdiv.sources.images import check_size, disjoint, noted, overlap, resized


@pytest.mark.parametrize("size", [14, 32, 41, 96])
def test_resizing_agrees_with_pillow(size: int) -> None:
    """Pillow rounds weights and the result between the two passes, hence one level."""
    image = pytest.importorskip("PIL.Image")
    digits = np.random.default_rng(0).integers(256, size=(5, 1, 28, 28), dtype=np.uint8)
    for made, digit in zip(resized(digits, size), digits, strict=True):
        pillow = image.fromarray(digit[0]).resize((size, size), image.Resampling.BILINEAR)
        assert np.abs(made[0].astype(int) - np.asarray(pillow)).max() <= 1


def test_resizing_keeps_size_type_and_flat_images() -> None:
    flat = np.full((600, 3, 10, 10), 77, np.uint8)
    assert resized(flat, 10) is flat
    made = resized(flat, 23)
    assert (made.shape, made.dtype) == ((600, 3, 23, 23), np.uint8)
    assert (made == 77).all()


def test_an_image_is_resized_by_itself() -> None:
    images = np.random.default_rng(0).integers(256, size=(520, 1, 12, 12), dtype=np.uint8)
    np.testing.assert_array_equal(resized(images, 9)[515:], resized(images[515:], 9))


@pytest.mark.parametrize("size", [7, 0, -3, 8.0, True, "32"])
def test_sizes_that_make_no_sense(size: object) -> None:
    with pytest.raises(ValueError, match="whole number of at least 8 pixels, got"):
        check_size(size)


def test_disjoint_rows_are_random_and_all_can_be_had() -> None:
    rng = np.random.default_rng(0)
    first = [disjoint(6, 1, 2, rng, "toy has 6 images")[1][0] for _ in range(3000)]
    counts = np.bincount(first, minlength=6)
    assert (np.abs(counts - 500) < 5 * (3000 * 5 / 36) ** 0.5).all()
    p, q = disjoint(6, 2, 4, rng, "toy has 6 images")
    assert sorted([*p, *q]) == list(range(6))
    with pytest.raises(ValueError, match="toy has 6 images, got a draw of 3 \\+ 4 disjoint ones"):
        disjoint(6, 3, 4, rng, "toy has 6 images")


def test_the_largest_share_is_spoken_of() -> None:
    assert overlap((100, 1000, "a"), (5, 1000, "b")) is None
    assert "101 of 1000 a each time" in str(overlap((101, 1000, "a"), (5, 10_000, "b")))
    assert "300 of 400 b each time" in str(overlap((101, 1000, "a"), (300, 400, "b")))
    assert noted(None, None) is None
    assert noted("one", None, "two") == "one; two"


def test_blocks_are_averaged_and_cut_off() -> None:
    images = np.arange(4 * 4, dtype=np.uint8).reshape(1, 1, 4, 4)
    assert resized(images, 2, by="blocks")[0, 0].tolist() == [[2, 4], [10, 12]]
    with pytest.raises(ValueError, match="a size that divides 4, got 3"):
        resized(images, 3, by="blocks")
