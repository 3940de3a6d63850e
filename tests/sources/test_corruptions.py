"""Corruptions: the published constants, hand-made cases, and numbers that know their own image."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.ndimage import zoom as scipy_zoom
from scipy.stats import binom

from rdiv.sources import corruptions
from rdiv.sources.corruptions import CONSTANTS, KINDS, corrupt, partly_corrupted

RNG = np.random.default_rng

# Scripts make_cifar_c.py and make_imagenet_64_c.py of Hendrycks and Dietterich (2019).
SNOW = [
    (0.1, 0.2, 1, 0.6, 8, 3),
    (0.1, 0.2, 1, 0.5, 10, 4),
    (0.15, 0.3, 1.75, 0.55, 10, 4),
    (0.25, 0.3, 2.25, 0.6, 12, 6),
    (0.3, 0.3, 1.25, 0.65, 14, 12),
]
PUBLISHED: dict[str, dict[str, list[Any]]] = {
    "cifar10": {
        "gauss": [0.04, 0.06, 0.08, 0.09, 0.10],
        "speckle": [0.06, 0.1, 0.12, 0.16, 0.2],
        "impulse": [0.01, 0.02, 0.03, 0.05, 0.07],
        "snow": [0.95, 0.9, 0.9, 0.85, 0.8],
    },
    "imagenet": {
        "gauss": [0.04, 0.08, 0.12, 0.15, 0.18],
        "speckle": [0.15, 0.2, 0.25, 0.3, 0.35],
        "impulse": [0.01, 0.02, 0.05, 0.08, 0.14],
        "snow": [0.8, 0.8, 0.7, 0.65, 0.6],
    },
}


@pytest.fixture(scope="module")
def photos() -> np.ndarray:
    """Bytes that vary smoothly in space and colour, with dark and light places."""
    rng = RNG(1)
    coarse = rng.random((40, 3, 5, 5))
    weights = np.clip(1 - np.abs(np.linspace(0, 4, 32)[:, None] - np.arange(5)), 0, None)
    return np.rint(255 * (weights @ coarse @ weights.T)).astype(np.uint8)


@pytest.mark.parametrize("name", CONSTANTS)
def test_the_constants_are_the_published_ones(name: str) -> None:
    for kind in ("gauss", "speckle", "impulse"):
        assert list(CONSTANTS[name][kind]) == PUBLISHED[name][kind]
    for fall, field, kept in zip(
        CONSTANTS[name]["snow"], SNOW, PUBLISHED[name]["snow"], strict=True
    ):
        numbers = (fall.mean, fall.spread, fall.zoom, fall.threshold, fall.radius, fall.blur)
        assert (*numbers, fall.kept) == (*field, kept)


@pytest.mark.parametrize("name", CONSTANTS)
@pytest.mark.parametrize("severity", [1, 5])
def test_noise_has_the_stated_size(name: str, severity: int) -> None:
    grey = np.full((50, 3, 20, 20), 0.5)
    for kind, factor in (("gauss", 1.0), ("speckle", 0.5)):
        noise = corrupt(grey, kind, RNG(0), severity=severity, constants=name) - 0.5
        scale = factor * PUBLISHED[name][kind][severity - 1]
        assert abs(noise.mean()) < 5 * scale / noise.size**0.5
        slack = 0.005 * (scale > 0.15)  # the tails that are cut off at 0 and 1
        assert abs(noise.std() / scale - 1) < 5 / (2 * noise.size) ** 0.5 + slack
    made = corrupt(grey, "impulse", RNG(0), severity=severity, constants=name)
    share = PUBLISHED[name]["impulse"][severity - 1]
    for value in (0.0, 1.0):  # as many black ones as white ones
        low, high = binom.ppf([1e-6, 1 - 1e-6], made.size, share / 2)
        assert low <= (made == value).sum() <= high
    assert set(np.unique(made)) == {0.0, 0.5, 1.0}


def test_speckle_leaves_black_alone_and_impulse_hits_channels_by_themselves() -> None:
    black = np.zeros((4, 3, 16, 16))
    np.testing.assert_array_equal(corrupt(black, "speckle", RNG(0)), black)
    hit = corrupt(np.full((20, 3, 16, 16), 0.5), "impulse", RNG(0)) != 0.5
    alone = hit.sum(axis=1) == 1
    assert alone.sum() > 10 * hit.all(axis=1).sum() > 0


@pytest.mark.parametrize("name", CONSTANTS)
def test_snow_on_black(name: str) -> None:
    """There is grey haze everywhere, and flakes that a half turn carries onto each other."""
    made = corrupt(np.zeros((60, 3, 32, 32)), "snow", RNG(0), severity=2, constants=name)
    haze = 0.5 * (1 - PUBLISHED[name]["snow"][1])
    assert made.min() == pytest.approx(haze)
    np.testing.assert_allclose(made, made[:, :, ::-1, ::-1])
    np.testing.assert_array_equal(made[:, 0], made[:, 1])
    flakes = made[:, 0] - haze
    across, along = (np.abs(np.diff(flakes, axis=axis)).mean(axis=(1, 2)) for axis in (2, 1))
    excess = across - along  # they fall, more or less, from above
    assert excess.mean() > 5 * excess.std() / len(excess) ** 0.5


def test_snow_whitens_by_the_luminance() -> None:
    colours = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])[:, :, None, None]
    images = np.broadcast_to(colours, (3, 3, 32, 32))
    made = corrupt(images, "snow", RNG(0), severity=1, constants="imagenet")
    for image, colour, grey in zip(made, np.eye(3), (0.299, 0.587, 0.114), strict=True):
        white = np.maximum(colour, 1.5 * grey + 0.5)
        np.testing.assert_allclose(
            image.min(axis=(1, 2)), np.clip(0.8 * colour + 0.2 * white, 0, 1)
        )


@pytest.mark.parametrize("zoom", [1, 1.25, 1.75, 2.25])
@pytest.mark.parametrize("size", [32, 64])
def test_flakes_are_enlarged_as_in_the_original(zoom: float, size: int) -> None:
    field = RNG(0).normal(size=(2, size, size))
    used = int(np.ceil(size / zoom))
    top = (size - used) // 2
    for made, whole in zip(corruptions._enlarged(field, zoom), field, strict=True):
        there = scipy_zoom(whole[top : top + used, top : top + used], zoom, order=1)
        cut = (len(there) - size) // 2
        np.testing.assert_allclose(made, there[cut : cut + size, cut : cut + size], atol=1e-12)


def test_streaks_one_pixel_at_a_time() -> None:
    flakes, angles = RNG(0).random((3, 9, 11)), np.radians([-90.0, -135.0, -60.0])
    made = corruptions._streaked(flakes, angles, 2, 1.5)
    weights = np.exp(-(np.arange(5) ** 2) / (2 * 1.5**2))
    weights /= weights.sum()
    for i, angle in enumerate(angles):
        for row in range(9):
            for column in range(11):
                wanted = 0.0
                for step in range(5):
                    y = min(max(row + round(step * np.sin(angle)), 0), 8)
                    x = min(max(column + round(step * np.cos(angle)), 0), 10)
                    wanted += weights[step] * flakes[i, y, x]
                assert made[i, row, column] == pytest.approx(wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_images(kind: str, photos: np.ndarray) -> None:
    before = photos.copy()
    first, again, other = (corrupt(photos, kind, RNG(seed)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any(axis=(1, 2, 3)).all()
    np.testing.assert_array_equal(photos, before)


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_does_not_depend_on_those_beside_it(kind: str) -> None:
    """Across the blocks of 256, too, and with an odd number of images."""
    images = RNG(0).integers(256, size=(301, 3, 8, 8), dtype=np.uint8)
    all_of_them = corrupt(images, kind, RNG(5))
    for many in (1, 7, 256, 257):
        np.testing.assert_array_equal(corrupt(images[:many], kind, RNG(5)), all_of_them[:many])
    changed = images.copy()
    changed[::2] = 255 - changed[::2]
    np.testing.assert_array_equal(corrupt(changed, kind, RNG(5))[1::2], all_of_them[1::2])


@pytest.mark.parametrize("name", CONSTANTS)
@pytest.mark.parametrize("kind", KINDS)
def test_more_severe_is_further_away(kind: str, name: str, photos: np.ndarray) -> None:
    clean = photos / 255
    distances = [
        np.abs(corrupt(clean, kind, RNG(0), severity=s, constants=name) - clean).mean((1, 2, 3))
        for s in range(1, 6)
    ]
    for nearer, further in pairwise(distances):
        step = further - nearer
        assert step.mean() > 3 * step.std() / len(step) ** 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_shape_type_and_range(kind: str, photos: np.ndarray) -> None:
    made = corrupt(photos, kind, RNG(0))
    assert (made.shape, made.dtype) == (photos.shape, np.uint8)
    for dtype in (np.float32, np.float64):
        floats = corrupt((photos / 255).astype(dtype), kind, RNG(0))
        assert (floats.shape, floats.dtype) == (photos.shape, dtype)
        assert 0 <= floats.min() <= floats.max() <= 1
    np.testing.assert_array_equal(made, np.rint(corrupt(photos / 255, kind, RNG(0)) * 255))
    for shape in ((0, 3, 8, 8), (2, 1, 8, 8), (2, 3, 8, 12), (2, 2, 14, 14)):
        assert corrupt(np.zeros(shape, np.uint8), kind, RNG(0)).shape == shape


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"kind": "fog"}, "unknown corruption 'fog'; .*Known: gauss, snow, speckle, impulse"),
        ({"severity": 0}, "severity must be a whole number from 1 to 5, got 0"),
        ({"severity": 2.0}, r"severity .* got 2\.0"),
        ({"severity": True}, "severity .* got True"),
        ({"constants": "mnist"}, "unknown constants 'mnist'"),
        ({"images": np.zeros((3, 8, 8), np.uint8)}, r"\(n, channels, height, width\), got .*3, 8"),
        ({"images": np.full((1, 3, 8, 8), 2.0)}, r"bytes or floats in \[0, 1\], got float64"),
        ({"images": np.zeros((1, 3, 8, 8), int)}, r"bytes or floats in \[0, 1\], got int64"),
        ({"images": np.full((1, 3, 8, 8), np.nan)}, r"bytes or floats in \[0, 1\]"),
    ],
)
def test_what_is_refused(change: dict[str, Any], sentence: str) -> None:
    given = {"images": np.zeros((1, 3, 8, 8), np.uint8), "kind": "gauss", "rng": RNG(0)} | change
    with pytest.raises(ValueError, match=sentence):
        corrupt(**given)


def test_some_images_are_hit_and_the_others_kept() -> None:
    images = RNG(0).integers(50, 200, size=(2000, 1, 8, 8), dtype=np.uint8)
    made = partly_corrupted(images, "gauss", RNG(1), fraction=0.1, severity=5, constants="imagenet")
    hit = (made != images).any(axis=(1, 2, 3))
    low, high = binom.ppf([1e-6, 1 - 1e-6], len(images), 0.1)
    assert low <= hit.sum() <= high
    assert (made[hit] != images[hit]).mean() > 0.9
    halves = hit[:1000].sum(), hit[1000:].sum()  # anywhere in the sample
    assert min(halves) >= binom.ppf(1e-6, 1000, 0.1)
