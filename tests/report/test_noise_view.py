"""The page on wrong labels: one file, escaped, with every suspected row up to a limit."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rdiv.report.pages")

from rdiv.noisy_labels import LabelNoiseDetector
from rdiv.report.noise_view import MOST_ROWS, noise_page


def rows(n: int = 90, name: str = "b") -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(n, 2))
    return x, np.where(x[:, 0] > 0, "a", name)


def test_the_page_says_how_many_and_which() -> None:
    found = LabelNoiseDetector("logistic", 0.1).fit(*rows(), rng=0)
    page = noise_page(found)
    assert "9 of 90 labels are suspected to be wrong" in page
    for row in found.rows()["row"]:
        assert f">{row}</span>" in page
    assert page.count("<svg") == 1
    assert "<script" not in page
    assert "http:" not in page


def test_labels_are_escaped() -> None:
    found = LabelNoiseDetector("logistic", 0.1).fit(*rows(name="<b>&"), rng=0)
    page = noise_page(found)
    assert "<b>&" not in page.replace('<b class="foreign"', "")
    assert "&lt;b&gt;&amp;" in page


def test_a_page_without_suspected_rows_says_so() -> None:
    page = noise_page(LabelNoiseDetector("logistic", 0.0).fit(*rows(), rng=0))
    assert "No row is suspected" in page
    assert "No suspected labels" in page


def test_in_sample_losses_are_said_to_be_such() -> None:
    page = noise_page(LabelNoiseDetector("logistic", 0.1, folds=None).fit(*rows(), rng=0))
    assert "In-sample losses" in page
    assert "ranked by the loss" in page


def test_long_lists_end_at_a_limit() -> None:
    x, y = rows(4 * MOST_ROWS)
    page = noise_page(LabelNoiseDetector("logistic", 0.5).fit(x, y, rng=0))
    assert f"{MOST_ROWS} more rows are in the JSON" in page
