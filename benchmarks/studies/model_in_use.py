"""Is the model in use hurt? Planted changes in census rows, and what compare says of them.

    python benchmarks/studies/model_in_use.py --out docs/measured/model_in_use.md

Needs `acs_employment_ma.npz` in RDIV_DATA. Draws that were made are kept in a journal.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import rdiv
from rdiv.comparison.result import Comparison
from rdiv.sources.data_files import data_dir
from rdiv.studies.journal import resume_map

ROWS, DRAWS, NULLS = 1000, 40, 200
JOURNAL = Path(__file__).with_name("journals") / "model_in_use.jsonl"

INTRO = """\
# The model in use, on census rows

<!-- Written by benchmarks/studies/model_in_use.py; do not edit. -->

People in Massachusetts, 2015 (American Community Survey): 16 columns, the target says whether a
person is employed. A draw takes {rows:,} + {rows:,} other rows with `default_rng([60, draw])`,
changes the current ones as named, and asks `rdiv.compare` with its defaults (boosting, 999
permutations, level .05; seed = draw). *Separating column*: a day that is 1 to 30 in reference and
31 to 60 in current. Square brackets: 95 % interval of a share. Gaps are means over the draws, in
nats of log loss.
Command: `python benchmarks/studies/model_in_use.py --out docs/measured/model_in_use.md`.\
"""


@lru_cache(maxsize=1)
def census() -> pl.DataFrame:
    """All rows of 2015, with their target."""
    with np.load(data_dir() / "acs_employment_ma.npz", allow_pickle=False) as file:
        chosen = file["year"] == 2015
        columns = {str(name): file["x"][chosen, j] for j, name in enumerate(file["columns"])}
        return pl.DataFrame({**columns, "employed": file["y"][chosen].astype(int)})


Change = Callable[[pl.DataFrame, np.random.Generator], pl.DataFrame]


def unchanged(rows: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """The rows as they are."""
    del rng
    return rows


def inverted_slice(rows: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Labels inverted for people of 45 and older, nearly half of the rows."""
    del rng
    old, y = pl.col("AGEP") >= 45, pl.col("employed")
    return rows.with_columns(employed=pl.when(old).then(1 - y).otherwise(y))


def noisy(rows: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """A tenth of the labels flipped at random."""
    flipped = pl.Series(rng.random(len(rows)) < 0.1)
    y = pl.col("employed")
    return rows.with_columns(employed=pl.when(flipped).then(1 - y).otherwise(y))


def older(rows: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Rows drawn again, older people more often: the relation stays as it is."""
    age = rows["AGEP"].to_numpy().astype(float)
    weight = np.exp((age - age.mean()) / age.std())
    return rows[rng.choice(len(rows), len(rows), p=weight / weight.sum(), replace=False)]


CASES: dict[str, tuple[Change, bool]] = {
    "no change": (unchanged, False),
    "no change, separating column": (unchanged, True),
    "labels inverted from 45 years on": (inverted_slice, False),
    "labels inverted from 45 years on, separating column": (inverted_slice, True),
    "10 % of the labels flipped": (noisy, False),
    "older people, same relation": (older, False),
}


def drawn(case: str, draw: int) -> Comparison:
    """One draw of a case, as a user would ask."""
    change, separated = CASES[case]
    rng, table = np.random.default_rng([60, draw]), census()
    rows = rng.choice(len(table), 2 * ROWS if change is not older else 11 * ROWS, replace=False)
    reference = table[rows[:ROWS]]
    current = change(table[rows[ROWS:]], rng)[:ROWS]
    if separated:
        days = rng.integers(1, 31, size=(2, ROWS)) + np.array([[0], [30]])
        reference = reference.with_columns(day=pl.Series(days[0]))
        current = current.with_columns(day=pl.Series(days[1]))
    return rdiv.compare(reference, current, target="employed", rng=draw, drivers=False)


def row(key: dict[str, Any]) -> dict[str, Any]:
    """What a draw said."""
    found = drawn(**key)
    won = found.retraining
    return {
        "verdict": found.verdict, "direction": found.direction,
        "gap": found.gap, "shared_gap": found.shared_gap,
        "raw": {name: result.pvalue for name, result in found.results.items()},
        "won": None if won is None else [won.current.value, won.reference.value],
        "warned": any("tells the files apart" in text for text in found.warnings),
    }  # fmt: skip


def collected(journal: Path, jobs: int) -> list[dict[str, Any]]:
    """All rows of the study; those that are in the journal are not made again."""
    keys: list[dict[str, Any]] = [
        {"case": case, "draw": draw}
        for case, (change, _) in CASES.items()
        for draw in range(NULLS if change is unchanged else DRAWS)
    ]
    found = resume_map(row, keys, file=journal, n_jobs=jobs)
    return [{**key, **one} for key, one in zip(keys, found, strict=True)]


def share(count: int, total: int) -> str:
    """A share with its interval."""
    span = binomtest(count, total).proportion_ci(method="wilson")
    return f"{count} of {total} [{span.low:.2f}, {span.high:.2f}]"


def page(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The lines of the page."""
    yield from INTRO.format(rows=ROWS).split("\n")
    head = "draws | risk shift, worse | other verdicts | gap in use | shared gap | retraining wins"
    yield from ("", f"| current | {head} on current, on reference | column named |")
    yield "|---|---|---|---|---|---|---|---|"
    for case in CASES:
        own = [one for one in rows if one["case"] == case]
        yield f"| {case} | {_line(own)} |"
    yield from ("", "The share of draws in which each test alone rejects at .05:", "")
    yield from ("| current | in-use | r-div | score |", "|---|---|---|---|")
    for case in CASES:
        own = [one["raw"] for one in rows if one["case"] == case]
        counts = [sum(one[name] <= 0.05 for one in own) for name in ("in-use", "r-div", "score")]
        yield f"| {case} | " + " | ".join(share(count, len(own)) for count in counts) + " |"


def _line(own: list[dict[str, Any]]) -> str:
    worse = sum((one["verdict"], one["direction"]) == ("risk shift", "worse") for one in own)
    others = Counter(
        " ".join(filter(None, (one["verdict"], one["direction"])))
        for one in own
        if one["direction"] != "worse"
    )
    said = ", ".join(f"{word} {count}" for word, count in others.most_common()) or "none"
    means = [np.mean([one[name] for one in own]) for name in ("gap", "shared_gap")]
    won = np.mean([one["won"] for one in own], axis=0)
    named = sum(one["warned"] for one in own)
    return (
        f"{len(own)} | {share(worse, len(own))} | {said} | {means[0]:+.3f} | {means[1]:+.3f} | "
        f"{won[0]:+.3f}, {won[1]:+.3f} | {named}"
    )


def main() -> None:
    """Make the draws that are missing, and write the page or print it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--journal", type=Path, default=JOURNAL)
    args = parser.parse_args()
    text = "\n".join(page(collected(args.journal, args.jobs))) + "\n"
    if args.out is None:
        print(text)
    else:
        args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
