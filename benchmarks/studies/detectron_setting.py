"""Few unlabelled rows of another source, and a model in use: the setting of Detectron.

    python benchmarks/studies/detectron_setting.py --out docs/measured/detectron_setting.md

The figures of Detectron are those of Ginsberg, Liang and Krishnan (ICLR 2023) on CIFAR-10.1, as the
README of the authors' repository (rgklab/detectron) prints them: power at 5 %.
Finished draws are kept in a journal. Needs the census and bike-sharing files in RDIV_DATA.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import rdiv
from rdiv.comparison.compare import admit
from rdiv.comparison.unlabelled import ask_unlabelled
from rdiv.inference.engine import PermutationSettings
from rdiv.parallel.threads import one_thread
from rdiv.studies.journal import resume_map
from rdiv.studies.leaderboard.standings import Rate
from rdiv.studies.leaderboard.tables import read_table

TRAIN, REFERENCE, SIZES, ALPHA, RESAMPLES = 500, 500, (10, 20, 50), 0.05, 199
JOURNAL = Path(__file__).with_name("journals") / "detectron_setting.jsonl"
QUESTIONS = ("expected losses", "inputs", "omnibus")
PUBLISHED = {
    "Detectron, disagreement": (0.37, 0.54, 0.83),
    "Detectron, entropy": (0.35, 0.56, 0.92),
}
"""Power on CIFAR-10.1 with 10, 20 and 50 images."""


@dataclass(frozen=True)
class Sources:
    """Two sources of one table: where the model was trained, and where it is used now."""

    table: str
    column: str
    home: Any
    away: Any
    target: str


CASES = {
    "bikes, winter hours, then spring": Sources("bikes", "season", "1", "2", "count"),
    "bikes, 2011, then 2012": Sources("bikes", "year", 0.0, 1.0, "count"),
    "census, 2015, then 2018": Sources("census", "year", 2015, 2018, "employed"),
    "census, married, then never married": Sources("census", "MAR", "1", "5", "employed"),
}


@lru_cache(maxsize=4)
def rows_of(name: str) -> tuple[Any, Any]:
    """The rows of both sources: inputs, and a target of two classes."""
    import polars as pl

    case = CASES[name]
    table = read_table(case.table)
    if case.table == "bikes":
        busy = table[case.target] > table.filter(pl.col(case.column) == case.home)["count"].median()
        table = table.with_columns(busy.cast(pl.Int8).cast(pl.String).alias(case.target))
    table = table.rename({case.target: "label"})
    home, away = (table.filter(pl.col(case.column) == value) for value in (case.home, case.away))
    return home.drop(case.column), away.drop(case.column)


def draw(key: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Rows to train on, a labelled reference, and few rows of the other source (or of the same)."""
    home, away = rows_of(key["case"])
    words = [key["seed"], [*CASES].index(key["case"]), key["n"], key["null"], key["draw"]]
    stream = np.random.default_rng(words)
    order = stream.permutation(len(home))
    train, reference = home[order[:TRAIN]], home[order[TRAIN : TRAIN + REFERENCE]]
    if key["null"]:
        first = TRAIN + REFERENCE
        return train, reference, home[order[first : first + key["n"]]]
    return train, reference, away[stream.permutation(len(away))[: key["n"]]]


def one_draw(key: dict[str, Any]) -> dict[str, float]:
    """P-values of all questions on one draw, and what the labels would have shown."""
    with one_thread():
        train, reference, current = draw(key)
        chance = classifier(train)
        given = [rows.with_columns(chance=chance(rows)) for rows in (reference, current)]
        pvalues = {QUESTIONS[0]: expected_losses(given[0], given[1], key["draw"])}
        p, q = (rows.drop("label") for rows in (reference, current))
        for name in QUESTIONS[1:]:
            pvalues[name] = rdiv.two_sample_test(
                p, q, name, n_resamples=RESAMPLES, alpha=ALPHA, rng=key["draw"]
            ).pvalue
    errors = [((rows["chance"] > 0.5) != (rows["label"] == "1")).mean() for rows in given]
    return {name: round(p, 4) for name, p in pvalues.items()} | {
        "errors": round(float(errors[1] - errors[0]), 4)
    }


def expected_losses(reference: Any, current: Any, seed: int) -> float:
    """The p-value of `in-use` in `rdiv.compare` without labels; the rest of it is not computed."""
    hidden = current.with_columns(label=None).cast({"label": reference["label"].dtype})
    admitted = admit(
        reference, hidden, model=None, target="label", prediction="chance", loss=None,
        retrain=None, drop=(), task=None, folds=None, groups=None, strata=None, rng=seed,
        n_jobs=None,
    )  # fmt: skip
    settings = PermutationSettings(ALPHA, RESAMPLES)
    found = ask_unlabelled(admitted.models, admitted.pooled, settings, train_share=0.5)
    return float(found.result.pvalue)


def classifier(train: Any) -> Any:
    """The model in use: gradient boosting on rows of the first source."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    texts = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    prepare = make_column_transformer(
        (texts, make_column_selector(dtype_include=[object, "string"])), remainder="passthrough"
    )
    model = make_pipeline(prepare, HistGradientBoostingClassifier(max_iter=50, random_state=0))
    model.fit(train.drop("label").to_pandas(), train["label"].to_numpy())

    def chance(rows: Any) -> NDArray[np.float64]:
        shares: NDArray[np.float64] = model.predict_proba(rows.drop("label").to_pandas())[:, 1]
        return shares

    return chance


INTRO = """\
# Ten unlabelled rows of another source

<!-- Written by benchmarks/studies/detectron_setting.py; do not edit. -->

The setting of Detectron (Ginsberg, Liang and Krishnan, "A learning based hypothesis test for
harmful covariate shift", ICLR 2023): a classifier in use was trained on one source, and 10, 20 or
50 rows of another one arrive without labels. Here: boosting trained on {train} rows, {reference}
other labelled rows of its source as reference, {draws} draws, level {alpha}, {resamples}
permutations. *Expected losses*: what `rdiv.compare` tests without labels, from the logged
predictions; *inputs* and *omnibus* look at the inputs alone. Power and false alarms (as many unseen
rows of the first source) with 95 % Wilson intervals. *Errors*: how much more often the classifier
is wrong on the new rows, which no test was told; the last pair of sources was added after
the results of the other three were seen: of four candidates, in draws of another seed, it hurts the
classifier most. Command: `{command}`.

**The figures of Detectron are not from these data.** They are published for CIFAR-10.1 with
a ResNet; none of its data sets is a table that we have. Read the two tables as two
answers to one question, not as a contest.
"""


def main() -> None:
    """Count, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rows", type=Path, default=JOURNAL, help="the journal")
    args = parser.parse_args()
    lines = "\n".join(page(args)) + "\n"
    print(lines)
    if args.out:
        args.out.write_text(lines)


def page(args: argparse.Namespace) -> Iterator[str]:
    """The page as lines."""
    command = (
        "python benchmarks/studies/detectron_setting.py --out docs/measured/detectron_setting.md"
    )
    yield INTRO.format(
        train=TRAIN, reference=REFERENCE, draws=args.draws, alpha=ALPHA, resamples=RESAMPLES,
        command=command,
    )  # fmt: skip
    keys = [
        {"case": case, "n": n, "null": null, "draw": i, "seed": args.seed}
        for i in range(args.draws)
        for case in CASES
        for n in SIZES
        for null in (False, True)
    ]
    found = resume_map(one_draw, keys, file=args.rows, n_jobs=args.jobs)
    results = list(zip(keys, found, strict=True))
    for null, title in ((False, "Power"), (True, "False alarms")):
        yield from (f"## {title}", "")
        yield "| sources | rows | errors | " + " | ".join(QUESTIONS) + " |"
        yield "|---" * (3 + len(QUESTIONS)) + "|"
        yield from _lines(results, null)
        yield ""
    yield from ("## Detectron, published (CIFAR-10.1)", "")
    yield "| test | " + " | ".join(f"{n} images" for n in SIZES) + " |"
    yield "|---" * (1 + len(SIZES)) + "|"
    for name, rates in PUBLISHED.items():
        yield f"| {name} | " + " | ".join(f"{rate:.2f}" for rate in rates) + " |"


def _lines(results: list[tuple[dict[str, Any], dict[str, float]]], null: bool) -> Iterator[str]:
    for case in CASES:
        for n in SIZES:
            here = [one for key, one in results
                    if (key["case"], key["n"], key["null"]) == (case, n, null)]  # fmt: skip
            rates = [Rate(sum(one[name] <= ALPHA for one in here), len(here)) for name in QUESTIONS]
            errors = np.mean([one["errors"] for one in here])
            yield f"| {case} | {n} | {errors:+.3f} | " + " | ".join(map(_shown, rates)) + " |"


def _shown(rate: Rate) -> str:
    low, high = rate.interval
    return f"{rate.value:.2f} [{low:.2f}, {high:.2f}]"


if __name__ == "__main__":
    main()
