"""What a call costs, counted: fits, rows that are fitted and scored, passes over the data.

Seconds depend on the machine and its other work; these counts do not. A number that rises here
makes every user's run slower: find out why before you raise it. One that falls may be lowered.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import rdiv
from rdiv.cli import main
from rdiv.models import FittedModel, Ridge
from rdiv.samples import Pool


@dataclass(frozen=True)
class Counting:
    """Ridge regression that writes down how many rows each of its calls was given."""

    calls: dict[str, list[int]] = field(
        default_factory=lambda: {"fit": [], "losses": [], "gradients": []}, repr=False
    )

    def fit(self, pool: Pool, rng: np.random.Generator) -> CountingFit:
        self.calls["fit"].append(len(pool))
        return CountingFit(Ridge().fit(pool, rng), self.calls)


@dataclass(frozen=True)
class CountingFit:
    fitted: FittedModel
    calls: dict[str, list[int]] = field(repr=False)

    def losses(self, pool: Pool) -> np.ndarray:
        self.calls["losses"].append(len(pool))
        return self.fitted.losses(pool)

    def gradients(self, pool: Pool) -> np.ndarray:
        self.calls["gradients"].append(len(pool))
        return self.fitted.gradients(pool)  # type: ignore[attr-defined]


class Cost(NamedTuple):
    """Fits, the rows of all fits together, and the rows whose losses and gradients were asked."""

    fits: int
    fitted: int
    scored: int
    gradients: int


def table(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": x @ [1, 0, 0]})


P, Q = table(600, 0), table(400, 1)
DAYS = {"monday": Q, "tuesday": Q[:200]}


def cost_of(call: Callable[[Counting], object]) -> Cost:
    model = Counting()
    call(model)
    calls = model.calls
    return Cost(len(calls["fit"]), sum(calls["fit"]), sum(calls["losses"]), sum(calls["gradients"]))


def settings(model: Counting, **more: Any) -> dict[str, Any]:
    return {"model": model, "target": "y", "rng": 0, "n_resamples": 99, **more}


CALLS: dict[str, tuple[Callable[[Counting], object], Cost]] = {
    # one fit of the pool, one loss per row
    "a test": (lambda m: rdiv.two_sample_test(P, Q, **settings(m)), Cost(1, 1000, 1000, 0)),
    # five fits of four fifths, one loss per row
    "a test with folds": (
        lambda m: rdiv.two_sample_test(P, Q, **settings(m, folds=5)),
        Cost(5, 4000, 1000, 0),
    ),
    # and one fit of all rows for the gradients
    "omnibus": (
        lambda m: rdiv.two_sample_test(P, Q, "omnibus", **settings(m, folds=5)),
        Cost(6, 5000, 1000, 1000),
    ),
    # and one fit of 300 reference rows, scored on the other 700
    "compare without drivers": (
        lambda m: rdiv.compare(P, Q, **settings(m, drivers=False)),
        Cost(7, 5300, 1700, 1000),
    ),
    # and three fits of two thirds of those 300 rows, for the loss to be expected
    "compare": (lambda m: rdiv.compare(P, Q, **settings(m)), Cost(10, 5900, 2000, 1000)),
    # more permutations cost no fit
    "compare with 999 permutations": (
        lambda m: rdiv.compare(P, Q, **settings(m, n_resamples=999)),
        Cost(10, 5900, 2000, 1000),
    ),
    # folds of a small pool are drawn twice, and their losses are needed together and one by one
    "compare of few rows": (
        lambda m: rdiv.compare(P[:300], Q[:200], **settings(m, drivers=False)),
        Cost(12, 4650, 2350, 500),
    ),
    # a fit sees 300 rows at most, and 400 give gradients
    "compare with few rows to fit": (
        lambda m: rdiv.compare(P, Q, **settings(m, fit_rows=300, sample_rows=400)),
        Cost(10, 2400, 2000, 400),
    ),
    # the model in use alone
    "compare without labels": (
        lambda m: rdiv.compare(P, Q.drop("y"), **settings(m)),
        Cost(4, 900, 600, 0),
    ),
    # twice as many as one day without drivers
    "compare two days": (
        lambda m: rdiv.compare_many(P, DAYS, **settings(m, drivers=False)),
        Cost(14, 9600, 3000, 1800),
    ),
    "plan": (
        lambda m: rdiv.plan(P, Q, model=m, target="y", gap=0.2, rng=0),
        Cost(5, 4000, 1000, 0),
    ),
    "estimate_gap": (
        lambda m: rdiv.estimate_gap(P, Q, model=m, target="y", rng=0),
        Cost(5, 4000, 1000, 0),
    ),
    "the start of a monitor": (
        lambda m: rdiv.Monitor(P, model=m, target="y", rng=0).start(),
        Cost(1, 300, 300, 0),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_fits_and_rows(name: str) -> None:
    call, expected = CALLS[name]
    found = cost_of(call)
    said = f"{name} used to cost at most {expected} and now costs {found}"
    assert found.fits == expected.fits, said
    assert all(now <= before for now, before in zip(found, expected, strict=True)), said


def test_a_batch_of_a_monitor_fits_nothing() -> None:
    model = Counting()
    monitor = rdiv.Monitor(P, model=model, target="y", rng=0)
    state = monitor.start()
    for batch in (Q, Q[:100]):
        for counted in model.calls.values():
            counted.clear()
        state = monitor.update(state, batch)
        assert model.calls == {"fit": [], "losses": [len(batch)], "gradients": []}


class Source:
    """A table in four parts that counts how often it is read, and how many rows."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame, self.started, self.rows = frame, 0, 0

    def __call__(self) -> Iterator[pl.DataFrame]:
        self.started += 1
        for part in self.frame.iter_slices(len(self.frame) // 4):
            self.rows += len(part)
            yield part


@pytest.mark.parametrize(
    ("more", "most"),
    [({}, 1), ({"drivers": False}, 1), ({"fit_rows": 300, "sample_rows": 400}, 12)],
    ids=["fits in memory", "without drivers", "does not fit"],
)
def test_passes_over_tables_in_parts(more: dict[str, Any], most: int) -> None:
    p, q = Source(P), Source(Q)
    rdiv.compare(p, q, **settings(Counting(), **more))
    passes = (p.rows + q.rows) / (len(P) + len(Q))
    assert passes <= most, f"the rows were read {passes:g} times, at most {most} before"


OPENED: Counter[str] = Counter()


def count_opened(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and str(arguments[0]).endswith(".counted.csv"):
        OPENED[Path(str(arguments[0])).name] += 1


@pytest.fixture(scope="module")
def listening() -> None:
    sys.addaudithook(count_opened)  # it stays in this process, and counts no other file


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize("command", ["compare", "test"])
def test_a_command_reads_each_file_once(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hash that the report prints is one of the bytes that were read anyway."""
    files = [tmp_path / "p.counted.csv", tmp_path / "q.counted.csv"]
    for file, frame in zip(files, (P, Q), strict=True):
        frame.write_csv(file)
    options = ["--target", "y", "--model", "ridge"]
    if command == "compare":
        options += ["--html", str(tmp_path / "report.html")]
    OPENED.clear()
    assert main([command, *map(str, files), *options]) == 0, capsys.readouterr().err
    assert dict(OPENED) == {file.name: 1 for file in files}
