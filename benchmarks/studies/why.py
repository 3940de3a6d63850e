"""Inputs or relation? Planted changes in census rows and in bike rentals, and what compare says.

    python benchmarks/studies/why.py --out docs/measured/why.md

Needs `acs_employment_ma.npz` and `bike_sharing_hour.npz` in RDIV_DATA. Draws that were made are
kept in a journal.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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

ROWS, DRAWS, SEED, DRAWN_FROM = 1000, 40, 20, 10
JOURNAL = Path(__file__).with_name("journals") / "why.jsonl"
INPUTS, RELATION = "inputs", "relation"

INTRO = """\
# Inputs or relation: what compare says of planted changes

<!-- Written by benchmarks/studies/why.py; do not edit. -->

A draw takes {rows:,} + {rows:,} different rows of one table with `default_rng([{seed}, draw])`,
changes the current ones, and asks `rdiv.compare` with its defaults (boosting, 999 permutations,
level .05; seed = draw).

*Census*: people in Massachusetts, 2015; 16 columns, the target is employment, the loss is log loss.
*Inputs*: current rows are drawn from {pool:,} others, people from 16 to 69 with 8 times the weight
of others. *Relation*: labels are inverted from 45 years on.
*Bikes*: hours of bike rentals; 12 columns, the target is hundreds of rentals, the loss is squared
error. *Inputs*: current rows are drawn likewise, the hours from 7 to 19 with 8 times the weight of
others. *Relation*: 1.5 (150 rentals) more from 17 h on.

*Column first*: the planted column is in the group with the largest contribution. *Claim*: the
interval of the relation part excludes 0, or a slice of the relation is confirmed. *Slice named*: a
confirmed slice of the relation is one of the planted column. *Covers 0*: the interval of the part.
Parts are means over the draws. Square brackets: 95 % interval of a share.
Command: `python benchmarks/studies/why.py --out docs/measured/why.md`.\
"""

Change = Callable[[pl.DataFrame], pl.DataFrame]


@lru_cache(maxsize=1)
def census() -> pl.DataFrame:
    """All people of 2015, with their target."""
    with np.load(data_dir() / "acs_employment_ma.npz", allow_pickle=False) as file:
        chosen = file["year"] == 2015
        columns = {str(name): file["x"][chosen, j] for j, name in enumerate(file["columns"])}
        return pl.DataFrame({**columns, "employed": file["y"][chosen].astype(int)})


@lru_cache(maxsize=1)
def bikes() -> pl.DataFrame:
    """All hours, with hundreds of rentals; without the two columns that sum to them."""
    with np.load(data_dir() / "bike_sharing_hour.npz", allow_pickle=False) as file:
        columns = {str(name): file["x"][:, j] for j, name in enumerate(file["columns"])}
    table = pl.DataFrame(columns).drop("casual", "registered")
    return table.drop("count").with_columns(rentals=table["count"].cast(pl.Float64) / 100)


def of_working_age(rows: pl.DataFrame) -> np.ndarray:
    """Weights of the census rows."""
    return np.where(rows["AGEP"].is_between(16, 69).to_numpy(), 8.0, 1.0)


def by_day(rows: pl.DataFrame) -> np.ndarray:
    """Weights of the hours."""
    return np.where(rows["hour"].is_between(7, 19).to_numpy(), 8.0, 1.0)


def inverted(rows: pl.DataFrame) -> pl.DataFrame:
    """Labels inverted for people of 45 and older, nearly half of the rows."""
    old, y = pl.col("AGEP") >= 45, pl.col("employed")
    return rows.with_columns(employed=pl.when(old).then(1 - y).otherwise(y))


def more(rows: pl.DataFrame) -> pl.DataFrame:
    """More rentals in the evening."""
    late, y = pl.col("hour") >= 17, pl.col("rentals")
    return rows.with_columns(rentals=pl.when(late).then(y + 1.5).otherwise(y))


@dataclass(frozen=True)
class Data:
    """A table, its target, and the two changes with the columns that they go by."""

    rows: Callable[[], pl.DataFrame]
    target: str
    weights: Callable[[pl.DataFrame], np.ndarray]
    moved: str
    change: Change
    slice: str


DATA = {
    "census": Data(census, "employed", of_working_age, "AGEP", inverted, "AGEP"),
    "bikes": Data(bikes, "rentals", by_day, "hour", more, "hour"),
}
CASES: dict[str, tuple[str, ...]] = {
    "no change": (),
    "inputs": (INPUTS,),
    "relation": (RELATION,),
    "both": (INPUTS, RELATION),
}


def samples(data: str, case: str, draw: int, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Reference and current of a draw."""
    own, planted = DATA[data], CASES[case]
    rng, table = np.random.default_rng([seed, draw]), own.rows()
    order = rng.permutation(len(table))
    reference, others = table[order[:ROWS]], table[order[ROWS : (1 + DRAWN_FROM) * ROWS]]
    weights = own.weights(others) if INPUTS in planted else np.ones(len(others))
    chosen = rng.choice(len(others), ROWS, replace=False, p=weights / weights.sum())
    current = others[chosen]
    return reference, own.change(current) if RELATION in planted else current


def drawn(data: str, case: str, draw: int, seed: int) -> Comparison:
    """One draw of a case, as a user would ask."""
    reference, current = samples(data, case, draw, seed)
    return rdiv.compare(reference, current, target=DATA[data].target, rng=draw)


def row(key: dict[str, Any]) -> dict[str, Any]:
    """What a draw said."""
    found = drawn(**key)
    assert found.drivers is not None
    columns = found.drivers.columns
    return {
        "verdict": found.verdict, "gap": found.gap,
        "split": None if found.split is None else found.split.fields(),
        "first": [] if columns is None else list(columns.groups[0].members),
        "relation": [list(one.clauses) for one in found.drivers.confirmed_relation_slices()],
        "slices": [list(one.clauses) for one in found.drivers.confirmed_slices()],
        "note": found.notes.get("split"),
    }  # fmt: skip


def collected(journal: Path, jobs: int, seed: int, draws: int) -> list[dict[str, Any]]:
    """All rows of the study; those that are in the journal are not made again."""
    keys: list[dict[str, Any]] = [
        {"data": data, "case": case, "draw": draw, "seed": seed}
        for draw in range(draws)
        for data in DATA
        for case in CASES
    ]
    found = resume_map(row, keys, file=journal, n_jobs=jobs)
    return [{**key, **one} for key, one in zip(keys, found, strict=True)]


def share(count: int, total: int) -> str:
    """A share with its interval."""
    span = binomtest(count, total).proportion_ci(method="wilson")
    return f"{count} of {total} [{span.low:.2f}, {span.high:.2f}]"


def covers_zero(one: dict[str, Any], part: str) -> bool:
    """Whether there is a split and its part covers 0."""
    split = one["split"]
    return split is not None and split[part]["low"] <= 0 <= split[part]["high"]


def claims(one: dict[str, Any]) -> bool:
    """Whether a draw says that the relation changed."""
    excluded = one["split"] is not None and not covers_zero(one, RELATION)
    return excluded or bool(one["relation"])


def named(one: dict[str, Any]) -> bool:
    """Whether a confirmed slice of the relation is one of the planted column."""
    column = re.compile(rf"\b{DATA[one['data']].slice}\b")
    return any(column.search(clause) for clauses in one["relation"] for clause in clauses)


def first(one: dict[str, Any]) -> bool:
    """Whether the planted column leads the contributions."""
    return DATA[one["data"]].moved in one["first"]


def seen(one: dict[str, Any]) -> bool:
    """Whether both parts exclude 0."""
    both = one["split"] is not None
    return both and not covers_zero(one, INPUTS) and not covers_zero(one, RELATION)


def page(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The lines of the page."""
    yield from INTRO.format(rows=ROWS, pool=DRAWN_FROM * ROWS, seed=SEED).split("\n")
    if len(rows) < DRAWS * len(DATA) * len(CASES):
        yield from ("", f"Unfinished: {DRAWS} draws of each case are planned.")
    for data in DATA:
        yield from ("", f"## {data.capitalize()}", "")
        yield "| planted | gap | inputs part | relation part | split | both parts exclude 0 |"
        yield "|---|---|---|---|---|---|"
        for case in CASES:
            yield f"| {case} | {_parts(_own(rows, data, case))} |"
        head = "column first | inputs covers 0 | relation covers 0 | claim | slice named"
        yield from ("", f"| planted | {head} |", "|---|---|---|---|---|---|")
        for case in CASES:
            yield f"| {case} | {_counts(_own(rows, data, case))} |"


def _own(rows: list[dict[str, Any]], data: str, case: str) -> list[dict[str, Any]]:
    return [one for one in rows if (one["data"], one["case"]) == (data, case)]


def _parts(own: list[dict[str, Any]]) -> str:
    split = [one for one in own if one["split"] is not None]
    means = [np.mean([one["gap"] for one in own])]
    means += [
        np.mean([one["split"][part]["value"] for one in split]) for part in (INPUTS, RELATION)
    ]
    parts = " | ".join(f"{mean:+.3f}" for mean in means)
    return f"{parts} | {len(split)} of {len(own)} | {share(sum(map(seen, own)), len(own))}"


def _counts(own: list[dict[str, Any]]) -> str:
    counts = (
        sum(map(first, own)),
        sum(covers_zero(one, INPUTS) for one in own),
        sum(covers_zero(one, RELATION) for one in own),
        sum(map(claims, own)),
        sum(map(named, own)),
    )
    return " | ".join(share(count, len(own)) for count in counts)


def main() -> None:
    """Make the draws that are missing, and write the page or print it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--journal", type=Path, default=JOURNAL)
    parser.add_argument("--seed", type=int, default=SEED, help="another one to try changes on")
    parser.add_argument("--draws", type=int, default=DRAWS)
    args = parser.parse_args()
    text = "\n".join(page(collected(args.journal, args.jobs, args.seed, args.draws))) + "\n"
    if args.out is None:
        print(text)
    else:
        args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    from benchmarks.studies.why import main as run  # by its name, so that workers find it

    run()
