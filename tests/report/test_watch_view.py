"""The page of a monitor: small, escaped, and without rows."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import rdiv
from rdiv.report.watch_view import watch_page


@pytest.fixture(scope="module")
def state():
    rng = np.random.default_rng(0)
    losses = pl.DataFrame({"loss": rng.exponential(size=400)})
    monitor = rdiv.Monitor(losses, loss="loss", rng=0)
    found = monitor.update(monitor.start(), losses.head(120), name="<b>day</b> & 1")
    return monitor.update(found, 3 * losses.tail(120), name="day 2")


def test_the_page_says_what_was_found(state) -> None:
    page = watch_page(state)
    assert "Alarm: losses have changed since day 2, worse." in page
    assert "&lt;b&gt;day&lt;/b&gt; &amp; 1" in page
    assert "<b>day</b>" not in page
    assert "<script" not in page
    assert page.count("<svg") == 2
    assert "mathdefault" not in page


def test_ten_thousand_batches_stay_small(state) -> None:
    looks = tuple(replace(state.history[i % 2], name=f"batch {i}") for i in range(10_000))
    page = watch_page(replace(state, history=looks))
    assert len(page.encode()) <= 1_500_000
    assert "9\u202f700 earlier looks are in the state." in page


def test_before_the_first_batch(state) -> None:
    losses = pl.DataFrame({"loss": np.arange(30.0)})
    page = watch_page(rdiv.Monitor(losses, loss="loss", rng=0).start())
    assert "Nothing has been added yet" in page
    assert "<svg" not in page
