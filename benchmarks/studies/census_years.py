"""Two years of census rows, draw by draw: what moved, and does the model care.

    python benchmarks/studies/census_years.py --out docs/measured/census_years.md

Needs `acs_employment_ma.npz` in RDIV_DATA. About five minutes.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import rdiv
from rdiv.comparison.result import Comparison
from rdiv.sources.data_files import data_dir

ROWS, SHOWN = 10_000, 3
YEARS = (2015, 2018)
INTRO = """\
# Two years of census rows

<!-- Written by benchmarks/studies/census_years.py; do not edit. -->

Employed and other people in Massachusetts (American Community Survey), {years[0]} against
{years[1]}, 16 columns, boosting with 5 folds, 999 permutations. A draw takes {rows:,} rows of
either year with `default_rng(seed)`; the last line has all rows of both years. The gap is that of
the model in use, trained on half of {years[0]}. p-values are of `in-use` (its mean loss), `r-div`
(mean loss of a model of both years), `score` (direction of training) and the inputs alone (inputs).
Command:
`python benchmarks/studies/census_years.py --draws {draws} --out docs/measured/census_years.md`.\
"""
HEAD = (
    "| rows a year | seed | verdict | gap in use, 95 % interval | in-use | r-div | score | inputs |"
)


def compared(size: int | None, seed: int) -> Comparison:
    """Some rows of either year, or all of them, judged by boosting out of fold."""
    with np.load(data_dir() / "acs_employment_ma.npz", allow_pickle=False) as file:
        x, y, year = file["x"].astype(float), file["y"].astype(int), file["year"]
    rng, samples = np.random.default_rng(seed), []
    for wanted in YEARS:
        rows = np.flatnonzero(year == wanted)
        chosen = rows if size is None else rng.choice(rows, size, replace=False)
        samples.append((x[chosen], y[chosen]))
    return rdiv.compare(*samples, model="boosting", rng=seed, drivers=False)


def line(size: str, seed: int, found: Comparison) -> str:
    """A row of the table."""
    assert found.gap_interval is not None
    assert found.input_test is not None
    low, high = found.gap_interval
    values = [found.results[name].pvalue for name in ("in-use", "r-div", "score")]
    values.append(found.input_test.pvalue)
    numbers = " | ".join(f"{value:.3f}" for value in values)
    gap = f"{found.gap:+.4f} [{low:+.4f}, {high:+.4f}]"
    return f"| {size} | {seed} | {found.verdict} | {gap} | {numbers} |"


def page(draws: int) -> Iterator[str]:
    """The lines of the page."""
    found = {seed: compared(ROWS, seed) for seed in range(draws)}
    whole = compared(None, 0)
    verdicts = Counter(one.verdict for one in found.values())
    inputs = [one.input_test for one in found.values() if one.input_test is not None]
    moved = sum(one.pvalue <= 0.05 for one in inputs)
    counts = ", ".join(f"{name} {count}" for name, count in verdicts.most_common())
    yield INTRO.format(draws=draws, years=YEARS, rows=ROWS)
    yield from ("", f"Of {draws} draws: {counts}; the inputs moved at level .05 in {moved}.", "")
    yield from (HEAD, "|---|---|---|---|---|---|---|---|")
    yield from (line(f"{ROWS:,}", seed, one) for seed, one in found.items())
    yield line("all", 0, whole)
    if SHOWN in found:
        yield from ("", f"The draw of seed {SHOWN} as `print` shows it:", "")
        yield from ("```text", str(found[SHOWN]), "```")


def main() -> None:
    """Write the page or print it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    text = "\n".join(page(args.draws)) + "\n"
    if args.out is None:
        print(text)
    else:
        args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
