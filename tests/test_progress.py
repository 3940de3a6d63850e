"""What long work says about where it stands, to whom, and when."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rdiv
from rdiv import progress
from rdiv.models import CrossFit, Mlp, Training
from rdiv.progress import counting, progress_sent_to

X = np.random.default_rng(0).normal(size=(24, 2))
Y = (X[:, 0] > 0).astype(int)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """An error stream that is a terminal, and work that is long at once."""
    stream = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))  # pytest has its own
    monkeypatch.setattr(progress, "_QUIET", 0.0)
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    return stream


def work() -> None:
    with counting("fold", 2) as outer:
        outer(1)
        with counting("epoch", 3) as inner:
            inner(2)
        outer(2)


def test_counts_share_a_line_that_is_wiped(terminal: Terminal) -> None:
    work()
    lines = ["fold 1 of 2", "fold 1 of 2, epoch 2 of 3", "fold 2 of 2", ""]
    assert terminal.getvalue() == "".join(f"\r{line}\x1b[K" for line in lines)


def test_an_interrupt_wipes_the_line(terminal: Terminal) -> None:
    def interrupted() -> None:
        with counting("epoch", 3) as at:
            at(1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert terminal.getvalue().endswith("\r\x1b[K")
    work()
    assert "epoch 1 of 3, fold" not in terminal.getvalue()


def test_quick_work_and_files_stay_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    work()
    assert stream.getvalue() == ""
    monkeypatch.setattr(progress, "_QUIET", 0.0)
    for silent in (io.StringIO(), None):
        monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=silent))
        work()
        assert silent is None or silent.getvalue() == ""


def test_workers_stay_silent(terminal: Terminal) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()
    assert terminal.getvalue() == ""


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"model": Mlp((4,), Training(epochs=3))}, "epoch 2 of 3"),
        ({"model": CrossFit(Mlp((4,), Training(epochs=2)), 2)}, "fold 4 of 6, epoch 1 of 2"),
        ({"discrepancy": "h-div", "model": "gmm"}, "permutation 1 of 19"),
    ],
)
def test_tests_say_where_they_stand(
    how: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    said: list[str] = []
    labelled = how["model"] != "gmm"
    samples = [(X[s], Y[s]) if labelled else X[s] for s in (slice(12), slice(12, 24))]
    with progress_sent_to(said.append):
        rdiv.two_sample_test(*samples, **how, n_resamples=19, rng=0)
    assert expected in said
    assert said[-1] == ""
