"""Omnibus and single tests on real tables with planted changes, and on the paper's sources.

    python benchmarks/studies/omnibus_tables.py --plan
    python benchmarks/studies/omnibus_tables.py --out docs/measured/omnibus_tables.md

Needs `acs_employment_ma.npz`, `bike_sharing_hour.npz` and `higgs_tst.npz` in RDIV_DATA. Finished
trials are kept in a journal, which continues where it was stopped; a trial belongs to the default
density of its table, so another default computes its own.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.studies.table_cells import CELLS, Cell, draw

from rdiv.discrepancies import Energy, GaussianMmd, LogitC2st, Omnibus
from rdiv.discrepancies.member_weights import FOR_INPUTS, weights_of
from rdiv.discrepancies.members import combined
from rdiv.discrepancies.resolve import default_density
from rdiv.inference.combining import Combine, min_p, weighted_p
from rdiv.inference.engine import PermutationSettings, permutation_pvalue, permute
from rdiv.models import BY_NAME as MODELS
from rdiv.models.protocol import fit_model
from rdiv.names import spelled
from rdiv.parallel.threads import one_thread
from rdiv.samples.pooling import PooledSamples, pool_samples
from rdiv.studies.journal import Journal, resume_map
from rdiv.two_sample import prepare, run_test

SEED, TRIALS, RESAMPLES, ALPHA = 65, 50, 299, 0.05
JOURNAL = Path(__file__).with_name("journals") / "omnibus_tables.jsonl"
SINGLE = ("r-div", "score", "energy", "mmd-o", "c2st-l")
SHOWN = ("omnibus", "r-div, score", "inputs", *SINGLE)
_OF_THE_MODEL = ("r-div", "score ridge", "score l4")
COMMAND = "python benchmarks/studies/omnibus_tables.py --out docs/measured/omnibus_tables.md"

INTRO = """\
# Omnibus on tables

<!-- Written by benchmarks/studies/omnibus_tables.py; do not edit. -->

Rejections at {alpha}, {resamples} permutations, {trials} trials per cell, draws from
`default_rng([{seed}, cell, trial])`. Every test sees the same draws and, except `c2st-l`, the same
permutations. `a:b` is a rows of reference and b of current. The density of r-div, score and omnibus
is the default of the table; `c2st-l` (boosting, in some cells) trains on one half.
*r-div, score*: omnibus with `inputs=False`. *inputs*: the test without a model that `compare` has
as `input_test`. Command: `{command}`.

*Regret*: power of the best single test ({single}) minus power of omnibus. The best test is named on
the odd trials and measured on the even ones, and the other way round; the two regrets are averaged.
In brackets: 95 % interval, from paired differences of the trials.

The members of omnibus and their weights were [chosen on other cells](omnibus_tuning.md), with
other draws; no draw below was made before that. Earlier versions were seen on these cells with
other seeds: that distances of normal scores miss growth in a long tail, that omnibus was behind
on Blob, HDGM and HIGGS-4, and that it missed a broken pair of bikes that r-div found (+0.34 with
seed 64), was known from them. After the last of these, relations and the scores of pairs were
added, and tuning cells with broken relations of other tables. The last two lines are ten rows of
another source, as of another hospital.
"""


def main() -> None:
    """Run or plan the study."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--plan", action="store_true", help="print the cells and stop")
    parser.add_argument("--out", type=Path, help="markdown page to write")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--seed", type=int, default=SEED, help="another seed for a pilot")
    parser.add_argument("--cells", default="", help="only cells whose name contains this")
    parser.add_argument("--rows", type=Path, default=JOURNAL, help="the journal")
    parser.add_argument(
        "--finished", action="store_true", help="compute nothing, show the cells in the journal"
    )
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    chosen = {name: cell for name, cell in CELLS.items() if args.cells in name}
    if args.plan:
        print("\n".join(chosen), f"\n{len(chosen)} cells of {args.trials} trials")
        return
    if args.finished:
        chosen = {name: cell for name, cell in chosen.items() if name in finished(args)}
    found = {name: run(name, cell, args) for name, cell in chosen.items()}
    lines = "\n".join(page(found, args)) + "\n"
    print(lines)
    if args.out:
        args.out.write_text(lines)


def finished(args: argparse.Namespace) -> set[str]:
    """The cells of which the journal has all trials."""
    with Journal(args.rows) as journal:
        keys = [row["key"] for row in journal.rows if row["key"]["seed"] == args.seed]
    there = Counter(key["cell"] for key in keys if key["trial"] < args.trials)
    return {name for name, count in there.items() if count >= args.trials}


def run(name: str, cell: Cell, args: argparse.Namespace) -> dict[str, Any]:
    """P-values of every test in all trials of a cell, and the density that was used."""
    density = spelled(default_density(pooled_draw(name, args.seed, 0).pool), MODELS)
    keys = [
        {"cell": name, "density": density, "resamples": RESAMPLES, "seed": args.seed, "trial": i}
        for i in range(args.trials)
    ]
    results = resume_map(one_trial, keys, file=args.rows, n_jobs=args.jobs)
    tests = {test: np.array([result[test] for result in results]) for test in results[0]}
    rates = {test: round(float((p <= ALPHA).mean()), 2) for test, p in tests.items()}
    print(name, density, rates, file=sys.stderr, flush=True)
    return {"density": density, "pvalues": tests, "family": cell.family}


def pooled_draw(name: str, seed: int, trial: int) -> PooledSamples:
    """The pool of one trial."""
    stream = np.random.default_rng([seed, list(CELLS).index(name), trial])
    return pool_samples(*draw(CELLS[name], stream), rng=trial)


def one_trial(key: dict[str, Any]) -> dict[str, float]:
    """P-values of every test and of the parts of omnibus, from one fit and the same masks."""
    pooled = pooled_draw(key["cell"], key["seed"], key["trial"])
    pool, settings = pooled.pool, PermutationSettings(ALPHA, key["resamples"])
    with one_thread():
        model = default_density(pool)
        omnibus = Omnibus(model).from_fit(fit_model(model, pool, pooled.stream("fit")), pool)
        others = {
            name: prepare(test, pool, pooled.stream("fit"))
            for name, test in (("energy", Energy()), ("mmd-o", GaussianMmd()))
        }
        null = permute(
            combined({"omnibus": omnibus, **others}), pooled.is_p, settings,
            rng=pooled.stream("masks"),
        )  # fmt: skip
        found = {"omnibus": null.of(omnibus, slice(omnibus.columns)).pvalue}
        found |= _members(dict(zip(omnibus.parts, null.parts.T, strict=False)))
        for place, name in enumerate(others, start=omnibus.columns):
            found[name] = null.of(others[name], slice(place, place + 1)).pvalue
        if CELLS[key["cell"]].trained:
            found["c2st-l"] = run_test(LogitC2st("boosting"), pooled, settings)[0].pvalue
    return {name: round(float(p), 4) for name, p in found.items()}


def _members(parts: dict[str, np.ndarray]) -> dict[str, float]:
    """P-values of r-div, score and inputs, from the columns of omnibus."""
    score = _together(min_p, parts, "score ridge", "score l4")
    looks = [name for name in parts if name not in _OF_THE_MODEL]
    found = {
        "r-div": parts["r-div"],
        "score": score,
        "r-div, score": min_p(np.stack([parts["r-div"], score], axis=1)),
        "inputs": _together(weighted_p(weights_of(looks, FOR_INPUTS)), parts, *looks),
        **{f"part {name}": parts[name] for name in looks},
    }
    return {name: permutation_pvalue(values[0], values[1:]) for name, values in found.items()}


def _together(combine: Combine, parts: dict[str, np.ndarray], *names: str) -> np.ndarray:
    return combine(np.stack([parts[name] for name in names], axis=1))


def regret(pvalues: dict[str, np.ndarray], rivals: list[str]) -> tuple[str, float, float]:
    """The best rival, how far omnibus is behind it, and the standard error of that."""
    rejected = {name: p <= ALPHA for name, p in pvalues.items()}
    halves = [np.arange(k, len(rejected["omnibus"]), 2) for k in (0, 1)]
    behind, errors, names = [], [], []
    for naming, measuring in (halves, halves[::-1]):
        best = max(rivals, key=lambda name: rejected[name][naming].mean())
        gaps = rejected[best][measuring].astype(float) - rejected["omnibus"][measuring]
        behind.append(gaps.mean())
        errors.append(gaps.std(ddof=1) / len(gaps) ** 0.5)
        names.append(best)
    return " or ".join(dict.fromkeys(names)), float(np.mean(behind)), float(np.hypot(*errors)) / 2


def page(found: dict[str, dict[str, Any]], args: argparse.Namespace) -> Iterator[str]:
    """The page: regret by table, and power by cell and test."""
    yield INTRO.format(alpha=ALPHA, resamples=RESAMPLES, trials=args.trials, seed=args.seed,
                       command=COMMAND, single=", ".join(SINGLE))  # fmt: skip
    regrets = {
        name: regret(cell["pvalues"], [test for test in SINGLE if test in cell["pvalues"]])
        for name, cell in found.items()
    }
    missing = [name for name in CELLS if name not in found]
    if missing:
        yield f"Not run yet: {', '.join(missing)}.\n"
    yield from summary(found, regrets)
    yield from (
        "## Every cell",
        "",
        "| cell | density | " + " | ".join(SHOWN) + " | best | regret |",
    )
    yield "|---" * (len(SHOWN) + 4) + "|"
    for name, cell in found.items():
        rates = [_rate(cell["pvalues"].get(test)) for test in SHOWN]
        best, behind, error = regrets[name]
        span = f"{behind:+.2f} [{_bounds(behind, error)}]"
        yield f"| {name} | {cell['density']} | {' | '.join(rates)} | {best} | {span} |"
    yield from members(found)


def summary(found: dict[str, Any], regrets: dict[str, tuple[str, float, float]]) -> Iterator[str]:
    """Mean and largest regret of every family of cells."""
    yield from ("## Regret", "", "| cells | number | mean regret | largest | largest lower bound |")
    yield "|---|---|---|---|---|"
    families = dict.fromkeys(cell["family"] for cell in found.values())
    tables = [name for name, cell in found.items() if cell["family"] not in ("paper", "none")]
    groups = {f: [n for n, cell in found.items() if cell["family"] == f] for f in families}
    groups.pop("none", None)
    few = [name for name in tables if CELLS[name].n_q <= 50]
    for title, names in [
        *groups.items(),
        ("all tables", tables),
        ("10 to 50 rows of current", few),
    ]:
        if names:
            values = np.array([regrets[name][1] for name in names])
            lows = [regrets[n][1] - norm.ppf(0.975) * regrets[n][2] for n in names]
            yield (
                f"| {title} | {len(names)} | {values.mean():+.3f} | {values.max():+.2f} | "
                f"{max(lows):+.2f} |"
            )
    yield ""


def members(found: dict[str, Any]) -> Iterator[str]:
    """Power of the parts of the inputs, which are single tests too."""
    names = list(
        dict.fromkeys(t for cell in found.values() for t in cell["pvalues"] if "part" in t)
    )
    yield from (
        "",
        "## The parts of inputs",
        "",
        "No single test of the table above is one of these.",
    )
    yield from ("", "| cell | " + " | ".join(n.removeprefix("part ") for n in names) + " |")
    yield "|---" * (len(names) + 1) + "|"
    for name, cell in found.items():
        yield f"| {name} | " + " | ".join(_rate(cell["pvalues"].get(n)) for n in names) + " |"


def _bounds(value: float, error: float) -> str:
    return ", ".join(f"{value + sign * norm.ppf(0.975) * error:+.2f}" for sign in (-1, 1))


def _rate(pvalues: np.ndarray | None) -> str:
    return "" if pvalues is None else f"{(pvalues <= ALPHA).mean():.2f}"


if __name__ == "__main__":
    main()
