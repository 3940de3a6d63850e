"""Which density model should stand in when the user names none: power by shape of data.

    python benchmarks/studies/default_density.py --out docs/measured/default_density.md

The choice made from these tables: mixed, which is a kernel density of up to 10 continuous columns
(a mixture for more than 20000 rows) and a Gaussian of normal scores and levels for all other
tables; pca for images. Every finished cell is kept in a journal, and a second run goes on after it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from joblib import Parallel, delayed
from sklearn.datasets import load_digits

import rdiv

JOURNAL = Path("benchmarks/studies/journals/default_density.json")
MODELS = ("mixed", "kde", "gmm", "pca")
TABLE_MODELS = ("mixed", "gmm", "pca")
Pair = tuple[Any, Any]


def spread(d: int, factor: float) -> Callable[[int, np.random.Generator], Pair]:
    """Normal rows, q wider by a factor."""
    return lambda n, rng: (rng.normal(size=(n, d)), factor * rng.normal(size=(n, d)))


def tails(n: int, rng: np.random.Generator) -> Pair:
    """Five columns of Student t against a normal of the same variance."""
    return rng.standard_t(5, size=(n, 5)), rng.normal(size=(n, 5)) * np.sqrt(5 / 3)


def grid(n: int, rng: np.random.Generator) -> Pair:
    """Nine clusters in the plane; in q each is stretched along a diagonal of its own."""

    def draw(stretched: bool) -> np.ndarray:
        centre = rng.integers(3, size=(n, 2))
        noise = rng.normal(size=(n, 2)) * 0.17
        if stretched:
            slope = (centre[:, 0] * 3 + centre[:, 1] - 4) / 6
            noise[:, 1] = slope * noise[:, 0] + np.sqrt(1 - slope**2) * noise[:, 1]
        return centre + noise

    return draw(False), draw(True)


def digits(n: int, rng: np.random.Generator) -> Pair:
    """Real digits (64 columns), with a little noise in q."""
    x = load_digits().data
    rows = rng.permutation(len(x))[: 2 * n]
    noise = (
        rng.normal(size=(2 * n, x.shape[1])) * np.where(np.arange(2 * n) < n, 0.01, 0.3)[:, None]
    )
    x = x[rows] + noise
    return x[:n], x[n:]


def higgs(n: int, rng: np.random.Generator) -> Pair:
    """Four jet angles of real background and signal events."""
    with np.load(Path(os.environ["RDIV_DATA"]) / "higgs_tst.npz", allow_pickle=False) as data:
        columns = data["phi_columns"]
        p, q = data["background"][:, columns], data["signal"][:, columns]
    return tuple(x[rng.choice(len(x), n, replace=False)].astype(float) for x in (p, q))


CELLS: dict[str, tuple[Callable[[int, np.random.Generator], Pair], int]] = {
    "spread 1.1, d = 3": (spread(3, 1.1), 200),
    "spread 1.05, d = 20": (spread(20, 1.05), 200),
    "heavy tails, d = 5": (tails, 300),
    "grid of clusters, d = 2": (grid, 360),
    "digits with noise, d = 64": (digits, 100),
    "HIGGS jet-phi, d = 4": (higgs, 500),
}


def stored(name: str) -> dict[str, np.ndarray]:
    """One of the files of real tables."""
    with np.load(Path(os.environ["RDIV_DATA"]) / f"{name}.npz", allow_pickle=False) as data:
        return dict(data)


def census(n: int, rng: np.random.Generator, weights: np.ndarray | None = None) -> pl.DataFrame:
    """Rows of the census of 2015: two numbers and 14 columns of levels."""
    data = stored("acs_employment_ma")
    x = data["x"][data["year"] == 2015]
    rows = x[rng.choice(len(x), n, replace=False, p=weights)]
    columns = dict(zip(data["columns"].tolist(), rows.T, strict=True))
    numbers = {"AGEP", "SCHL"}
    return pl.DataFrame(
        {
            name: values.astype(float) if name in numbers else [f"{name} {v}" for v in values]
            for name, values in columns.items()
        }
    )


def older(n: int, rng: np.random.Generator) -> Pair:
    """Older people are somewhat likelier in q."""
    data = stored("acs_employment_ma")
    age = data["x"][data["year"] == 2015][:, data["columns"].tolist().index("AGEP")].astype(float)
    weights = np.exp(0.015 * (age - age.mean()))
    return census(n, rng), census(n, rng, weights / weights.sum())


def new_level(n: int, rng: np.random.Generator) -> Pair:
    """A new level in 8 % of the rows of q."""
    p, q = census(n, rng), census(n, rng)
    new = pl.Series(rng.random(n) < 0.08)
    return p, q.with_columns(MAR=pl.when(new).then(pl.lit("new")).otherwise(pl.col("MAR")))


def holes(n: int, rng: np.random.Generator) -> Pair:
    """A number is missing in 3 % of the rows of p and in 12 % of those of q."""

    def with_holes(frame: pl.DataFrame, share: float) -> pl.DataFrame:
        gone = pl.Series(rng.random(n) < share)
        return frame.with_columns(SCHL=pl.when(gone).then(None).otherwise(pl.col("SCHL")))

    return with_holes(census(n, rng), 0.03), with_holes(census(n, rng), 0.12)


def bikes(change: str) -> Callable[[int, np.random.Generator], Pair]:
    """Hours of bike sharing, 12 columns of numbers; in q humidity is wider or goes its own way."""

    def draw(n: int, rng: np.random.Generator) -> Pair:
        data = stored("bike_sharing_hour")
        x = data["x"].astype(float)[:, :12]
        p, q = (x[rng.choice(len(x), n, replace=False)] for _ in range(2))
        own = q[:, 10]
        q[:, 10] = rng.permutation(own) if change == "pair" else own + 0.3 * (own - own.mean())
        names = data["columns"].tolist()[:12]
        return pl.DataFrame(p, schema=names), pl.DataFrame(q, schema=names)

    return draw


def higgs_whole(n: int, rng: np.random.Generator) -> Pair:
    """All 28 columns of real background and signal events."""
    data = stored("higgs_tst")
    p, q = (
        data[name][rng.choice(len(data[name]), n, replace=False)].astype(float)
        for name in ("background", "signal")
    )
    return p, q


TABLES: dict[str, tuple[Callable[[int, np.random.Generator], Pair], int]] = {
    "census, older people": (older, 250),
    "census, a new level": (new_level, 250),
    "census, missing cells": (holes, 250),
    "bikes, a wider column": (bikes("scale"), 200),
    "bikes, a broken pair of columns": (bikes("pair"), 200),
    "HIGGS, 28 columns": (higgs_whole, 100),
}


def rejected(cell: str, model: str, trial: int) -> bool:
    """One test with 99 permutations at level 0.05."""
    table = cell in TABLES
    draw, n = TABLES[cell] if table else CELLS[cell]
    p, q = draw(n, np.random.default_rng([31 if table else 30, trial]))
    test = "omnibus" if table else "r-div"
    return rdiv.two_sample_test(p, q, test, model=model, n_resamples=99, rng=trial).rejected


def measured(cell: str, model: str, trials: int, jobs: int) -> str:
    """Power and seconds per test of one cell, from the journal where it has them."""
    known = json.loads(JOURNAL.read_text()) if JOURNAL.exists() else {}
    name = f"{cell}; {model}; {trials}"
    if name not in known:
        start = time.perf_counter()
        found = Parallel(n_jobs=jobs)(delayed(rejected)(cell, model, i) for i in range(trials))
        seconds = (time.perf_counter() - start) * jobs / trials
        known[name] = [int(np.sum(found)), round(seconds, 2)]
        JOURNAL.write_text(json.dumps(known, indent=1) + "\n")
    count, seconds = known[name]
    return f"{count / trials:.2f} ({seconds:.2f} s)"


def lines(trials: int, jobs: int) -> Iterator[str]:
    """The page, line by line."""
    yield "# Which density model by default"
    yield ""
    yield "<!-- Written by benchmarks/studies/default_density.py; do not edit. -->"
    yield ""
    yield "## Numbers"
    yield ""
    yield f"Power of R-divergence with each density model, in sample, at level 0.05: {trials}"
    yield "trials, 99 permutations, trial `i` drawn with `default_rng([30, i])`. The standard error"
    yield f"of a rate is at most {0.5 / trials**0.5:.2f}. Seconds are per test, one thread."
    yield ""
    yield from rows_of(CELLS, MODELS, trials, jobs)
    yield ""
    yield "## Tables"
    yield ""
    yield "Power of omnibus (r-div and score of the model beside the members that need none, as"
    yield "they were combined before p-values had weights, and with 400 gradients of a mixture) on"
    yield f"real tables with a planted change: {trials // 2} trials, 99 permutations, trial `i`"
    yield "drawn with `default_rng([31, i])`. The standard error of a rate is at most"
    yield f"{0.5 / (trials // 2) ** 0.5:.2f}."
    yield ""
    yield from rows_of(TABLES, TABLE_MODELS, trials // 2, jobs)


def rows_of(
    cells: dict[str, tuple[Callable[[int, np.random.Generator], Pair], int]],
    models: tuple[str, ...],
    trials: int,
    jobs: int,
) -> Iterator[str]:
    """One table of the page."""
    yield "| data | rows per sample | " + " | ".join(models) + " |"
    yield "|---|---|" + "---|" * len(models)
    for cell, (draw, n) in cells.items():
        if (draw is higgs or cell in TABLES) and "RDIV_DATA" not in os.environ:
            continue
        shown = [measured(cell, model, trials, jobs) for model in models]
        yield f"| {cell} | {n} | " + " | ".join(shown) + " |"


def main() -> None:
    """Print the table and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    page = []
    for line in lines(args.trials, args.jobs):
        print(line, flush=True)
        page.append(line)
    if args.out:
        args.out.write_text("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
