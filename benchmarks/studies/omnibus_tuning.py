"""Ways to combine the members of omnibus, compared on cells that are reported nowhere else.

    python benchmarks/studies/omnibus_tuning.py --out docs/measured/omnibus_tuning.md

Needs the same files in RDIV_DATA as `omnibus_tables.py`. Every trial prepares the members once and
draws one set of permutations; all candidates combine the same numbers. Finished trials are kept in
a journal.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp, ndtri

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.studies.omnibus_tables import regret
from benchmarks.studies.table_cells import draw
from benchmarks.studies.tuning_cells import CELLS, SOURCES, TABLES

from rdiv.discrepancies import Energy, GaussianMmd, Omnibus
from rdiv.discrepancies.member_weights import FOR_FEW_COLUMNS, FOR_TABLES, weights_of
from rdiv.discrepancies.members import combined
from rdiv.discrepancies.resolve import default_density
from rdiv.inference.combining import min_p, weighted_p
from rdiv.inference.engine import PermutationSettings, permutation_pvalue, permute
from rdiv.inference.ties import upper_counts
from rdiv.models.mixed import few_and_continuous
from rdiv.models.protocol import fit_model
from rdiv.parallel.threads import one_thread
from rdiv.samples.pooling import pool_samples
from rdiv.studies.journal import resume_map
from rdiv.two_sample import prepare

SEED, TRIALS, RESAMPLES, ALPHA = 502, 60, 299, 0.05
JOURNAL = Path(__file__).with_name("journals") / "omnibus_tuning.jsonl"
SINGLE = ("r-div", "score", "energy", "mmd-o")
Columns = dict[str, np.ndarray]

INTRO = """\
# How the members of omnibus are combined

<!-- Written by benchmarks/studies/omnibus_tuning.py; do not edit. -->

The weights of `omnibus` and the way it combines its members were chosen on these cells: other
years and columns of the census, other columns of the bike rentals, other digits, other HIGGS
events, breast cancer, artificial columns, and the paper's sources at other sizes and dimensions
(`benchmarks/studies/tuning_cells.py`). [The cells that are reported](omnibus_tables.md) were drawn
after that. {trials} trials per cell, {resamples} permutations, level {alpha}; draws from
`default_rng([{seed}, cell, trial])`.

*Regret*: power of the best single test ({single}) minus power of the combination; the best test
is named on one half of the trials and measured on the other. *Few columns*: at most ten, all
of continuous numbers; there the density sees clusters. Command:
`python benchmarks/studies/omnibus_tuning.py --out docs/measured/omnibus_tuning.md`.

| combination | paper's sources ({paper}) | artificial columns ({artificial}) | tables ({tables}) |
|---|---|---|---|\
"""

OUTRO = """
A cell of the table is the mean regret and the largest one. *weighted, tables* and *weighted, few
columns* are `weighted_p` with the two sets of weights of `rdiv.discrepancies.member_weights`;
omnibus takes one of them by the kind of the columns, which is the last line. The others: the
smallest p-value or the log-sum-exp of normal scores of three members ({r-div, score}, distances,
columns and pairs), as omnibus had it before; of two members ({r-div, score}, inputs); and r-div and
score alone.

What a combination loses is the price of the other members: at power .9 and level .05, a third of
the level leaves about .79. Weights that favour r-div and score more lose more on artificial
columns, where energy alone finds a shift of the location best."""


def main() -> None:
    """Run the trials and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, help="markdown page to write")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--rows", type=Path, default=JOURNAL, help="the journal")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    found = {}
    for name in CELLS:
        keys = [{"cell": name, "seed": SEED, "trial": i} for i in range(args.trials)]
        results = resume_map(one_trial, keys, file=args.rows, n_jobs=args.jobs)
        found[name] = {test: np.array([row[test] for row in results]) for test in results[0]}
    lines = "\n".join(page(found, args.trials)) + "\n"
    print(lines)
    if args.out:
        args.out.write_text(lines)


def one_trial(key: dict[str, Any]) -> dict[str, float]:
    """P-values of single tests and of all combinations, from one set of permutations."""
    place, trial = list(CELLS).index(key["cell"]), key["trial"]
    rng = np.random.default_rng([key["seed"], place, trial])
    pooled = pool_samples(*draw(CELLS[key["cell"]], rng, TABLES, SOURCES), rng=trial)
    pool = pooled.pool
    with one_thread():
        model = default_density(pool)
        omnibus = Omnibus(model).from_fit(fit_model(model, pool, pooled.stream("fit")), pool)
        others = {
            name: prepare(test, pool, pooled.stream("fit"))
            for name, test in (("energy", Energy()), ("mmd-o", GaussianMmd()))
        }
        null = permute(
            combined({"omnibus": omnibus, **others}), pooled.is_p,
            PermutationSettings(ALPHA, RESAMPLES), rng=pooled.stream("masks"),
        )  # fmt: skip
    names = [*omnibus.parts, *others]
    parts = dict(zip(names, null.parts.T, strict=True))
    return pvalues(parts, few=few_and_continuous(pool.by_kind()))


def pvalues(parts: Columns, *, few: bool) -> dict[str, float]:
    """P-values of single tests and of every combination of some parts."""
    values = {name: parts[name] for name in ("r-div", "energy", "mmd-o")}
    values["score"] = together(min_p, parts, "score ridge", "score l4")
    values |= {name: combine(parts) for name, combine in candidates().items()}
    values["omnibus"] = values["weighted, few columns" if few else "weighted, tables"]
    return {
        name: round(float(permutation_pvalue(own[0], own[1:])), 4) for name, own in values.items()
    }


def candidates() -> dict[str, Callable[[Columns], np.ndarray]]:
    """From the parts of omnibus, ``(1 + B,)`` each, to what is ranked."""

    def three(parts: Columns) -> np.ndarray:
        far = [name for name in parts if name.startswith("distances")]
        near = [name for name in ("columns", "pairs") if name in parts]
        return np.stack([model(parts), best(parts, far), best(parts, near)], axis=1)

    def two(parts: Columns) -> np.ndarray:
        far = [name for name in parts if name.startswith("distances")]
        near = tuple(parts[name] for name in ("columns", "pairs") if name in parts)
        inputs = log_sum_exp(np.stack((best(parts, far), *near), axis=1))
        return np.stack([model(parts), inputs], axis=1)

    def weighted(weights: Any) -> Callable[[Columns], np.ndarray]:
        def combine(parts: Columns) -> np.ndarray:
            names = [name for name in parts if name not in ("energy", "mmd-o")]
            found: np.ndarray = together(weighted_p(weights_of(names, weights)), parts, *names)
            return found

        return combine

    return {
        "r-div, score": model,
        "three members, log-sum-exp": lambda parts: log_sum_exp(three(parts)),
        "three members, min-p": lambda parts: min_p(three(parts)),
        "two members, log-sum-exp": lambda parts: log_sum_exp(two(parts)),
        "two members, min-p": lambda parts: min_p(two(parts)),
        "weighted, tables": weighted(FOR_TABLES),
        "weighted, few columns": weighted(FOR_FEW_COLUMNS),
    }


def together(combine: Callable[[np.ndarray], np.ndarray], parts: Columns, *names: str) -> Any:
    """Some parts as one."""
    return combine(np.stack([parts[name] for name in names], axis=1))


def model(parts: Columns) -> np.ndarray:
    """The smallest p-value of r-div and score."""
    score = together(min_p, parts, "score ridge", "score l4")
    return min_p(np.stack([parts["r-div"], score], axis=1))


def best(parts: Columns, names: Sequence[str]) -> np.ndarray:
    """The smallest p-value of some parts."""
    found: np.ndarray = together(min_p, parts, *names)
    return found


def log_sum_exp(columns: np.ndarray) -> np.ndarray:
    """The log-sum-exp of twice the normal scores of p-values."""
    shares = np.stack([upper_counts(own) for own in columns.T], axis=1) / (len(columns) + 1)
    found: np.ndarray = logsumexp(2 * np.sort(-ndtri(shares), axis=1), axis=1) / 2
    return found


def page(found: dict[str, dict[str, np.ndarray]], trials: int) -> Iterator[str]:
    """Mean and largest regret of every combination on three kinds of cells."""
    artificial = ("location", "scale", "correlation", "tail", "few rows")
    kinds = {
        name: "tables" if cell.family != "paper"
        else "artificial" if any(word in name for word in artificial) else "paper"
        for name, cell in CELLS.items()
    }  # fmt: skip
    sizes = {kind: sum(own == kind for own in kinds.values()) for kind in kinds.values()}
    yield INTRO.format(trials=trials, resamples=RESAMPLES, alpha=ALPHA, seed=SEED,
                       single=", ".join(SINGLE), **sizes)  # fmt: skip
    for combination in [*SINGLE, *candidates(), "omnibus"]:
        behind = {
            name: regret({**own, "omnibus": own[combination]}, list(SINGLE))[1]
            for name, own in found.items()
        }
        cells = []
        for kind in sizes:
            values = [value for name, value in behind.items() if kinds[name] == kind]
            cells.append(f"{np.mean(values):+.3f}, {max(values):+.2f}")
        yield f"| {combination} | {' | '.join(cells)} |"
    yield OUTRO


if __name__ == "__main__":
    main()
