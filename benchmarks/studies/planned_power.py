"""Whether a gap said to be found with 80 % probability is, and whether planned rows find theirs.

    python benchmarks/studies/planned_power.py --out docs/measured/planned_power.md

Each draw of the first table compares two samples without a shift, takes the smallest detectable
gap, and compares two new samples whose loss differs by just that gap. Each draw of the second plans
rows from a pilot without a shift and tests new samples of the planned size; how many rows are
really needed comes from tests at up to three sizes. The noise of current makes the gap: the squared
error of any model of the rest rises by what is added to its variance.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import rdiv
from rdiv.studies.journal import Journal, resume_map

SEED, RESAMPLES, POWER, ALPHA = 43, 399, 0.8, 0.05
JOURNAL = Path(__file__).parent / "journals" / "planned_power.jsonl"

Draw = Callable[[int, float, np.random.Generator], Any]


def regression(n: int, gap: float, rng: np.random.Generator) -> Any:
    """A linear target with normal noise, whose variance is 1 plus the gap."""
    x = rng.normal(size=(n, 3))
    return x, x @ np.array([1.0, -0.5, 0.0]) + (1 + gap) ** 0.5 * rng.normal(size=n)


def flipped(n: int, gap: float, rng: np.random.Generator) -> Any:
    """Two classes; so many labels are flipped that the log loss of the best model rises by gap."""
    x = rng.normal(size=(n, 3))
    chance = 1 / (1 + np.exp(-2 * x[:, 0]))
    y = rng.random(n) < chance
    return x, (y ^ (rng.random(n) < gap / PER_FLIP)).astype(int)


def _per_flip() -> float:
    """The mean log loss that one flipped label adds: that of 2 z (2 p - 1), z standard normal."""
    z, weights = np.polynomial.hermite_e.hermegauss(80)
    odds = 2 * z
    added = odds * (2 / (1 + np.exp(-odds)) - 1)
    return float(weights @ added / weights.sum())


PER_FLIP = _per_flip()


def logged(law: Callable[[int, np.random.Generator], Any]) -> Draw:
    """A table with nothing but a column of losses, of mean 1 plus the gap."""

    def draw(n: int, gap: float, rng: np.random.Generator) -> Any:
        import polars as pl

        return pl.DataFrame({"loss": (1 + gap) * law(n, rng)})

    return draw


exponential = logged(lambda n, rng: rng.exponential(size=n))
lognormal = logged(lambda n, rng: np.exp(rng.normal(size=n) - 0.5))


@dataclass(frozen=True)
class Setting:
    """What is drawn, how many rows, and how it is compared or planned; sizes that are tried."""

    name: str
    draw: Draw
    sizes: tuple[int, int]
    how: dict[str, Any]
    draws: int
    gap: float | None = None
    tried: tuple[int, ...] = ()
    tests: int = 0
    seeds: tuple[int, ...] = (SEED,)

    @property
    def rows(self) -> str:
        return f"{self.sizes[0]} + {self.sizes[1]}" if self.sizes[1] else str(self.sizes[0])


RIDGE, BOOSTING, LOSS = {"model": "ridge"}, {"model": "boosting"}, {"loss": "loss"}
FOUND = (
    Setting("ridge, squared error", regression, (100, 100), RIDGE, 400),
    Setting("ridge, squared error", regression, (800, 800), RIDGE, 200),
    Setting("ridge, squared error, no model in use", regression, (80, 80), RIDGE, 400),
    Setting("logistic, log loss", flipped, (400, 400), {"model": "logistic"}, 200),
    Setting("boosting, squared error", regression, (400, 400), BOOSTING, 40),
    Setting("exponential losses, one question", exponential, (100, 100), LOSS, 400),
    Setting("exponential losses, one question", exponential, (400, 50), LOSS, 800),
    Setting("lognormal losses, heavy tails", lognormal, (400, 400), LOSS, 400),
)
PLANNED = (
    Setting("ridge", regression, (100, 100), RIDGE, 200, 0.5, (150, 200, 250), 200),
    Setting("ridge", regression, (400, 400), RIDGE, 200, 0.3, (360, 450, 540), 200),
    Setting("ridge, reference alone", regression, (200, 0), RIDGE, 200, 0.5, (150, 200, 250), 200),
    Setting("boosting", regression, (200, 200), BOOSTING, 180, 0.5, (230, 300), 60, (SEED, 9043)),
)
FLAGGED = 50


def found(setting: Setting, i: int) -> dict[str, Any]:
    """The gap that a comparison says it finds, and whether the verdict finds it."""
    rng = np.random.default_rng([SEED, 1, i])
    how = {"drivers": False, "n_resamples": RESAMPLES, "rng": i, **setting.how}
    n_p, n_q = setting.sizes
    before = rdiv.compare(setting.draw(n_p, 0.0, rng), setting.draw(n_q, 0.0, rng), **how)
    gap = before.smallest_detectable_gap
    if not np.isfinite(gap):
        return {"gap": None, "hit": False}
    after = rdiv.compare(setting.draw(n_p, 0.0, rng), setting.draw(n_q, gap, rng), **how)
    return {"gap": gap, "hit": after.verdict == "risk shift"}


def flagged(setting: Setting, i: int) -> dict[str, Any]:
    """Whether a comparison says of its gap that it is asymptotic."""
    rng = np.random.default_rng([SEED, 1, i])
    how = {"drivers": False, "n_resamples": 99, "rng": i, **setting.how}
    pair = [setting.draw(n, 0.0, rng) for n in setting.sizes]
    return {"hit": "asymptotic" in rdiv.compare(*pair, **how).notes}


def planned(setting: Setting, i: int, seed: int) -> dict[str, Any]:
    """The rows that a pilot plans, its range, and whether a test of so many finds the gap."""
    rng = np.random.default_rng([seed, 2, i])
    n_p, n_q = setting.sizes
    pilots = [setting.draw(n, 0.0, rng) for n in (n_p, n_q) if n]
    plan = rdiv.plan(*pilots, gap=setting.gap, sizes=[n_p], rng=i, **setting.how)
    assert plan.rows_p is not None
    assert plan.rows_q is not None
    assert plan.rows_p_range is not None
    pair = setting.draw(plan.rows_p, 0.0, rng), setting.draw(plan.rows_q, setting.gap or 0.0, rng)
    test = rdiv.two_sample_test(*pair, folds=5, n_resamples=RESAMPLES, rng=i, **setting.how)
    low, high = plan.rows_p_range
    return {"gap": plan.rows_p, "hit": test.rejected, "low": int(low), "high": int(high)}


def tried(setting: Setting, size: int, i: int) -> dict[str, Any]:
    """Whether a test of so many rows on each side finds the gap."""
    rng = np.random.default_rng([SEED, 3, size, i])
    pair = setting.draw(size, 0.0, rng), setting.draw(size, setting.gap or 0.0, rng)
    test = rdiv.two_sample_test(*pair, folds=5, n_resamples=RESAMPLES, rng=i, **setting.how)
    return {"hit": test.rejected}


def rows_needed(results: dict[int, list[dict[str, Any]]]) -> tuple[float, float]:
    """Rows that find a gap with the power planned for, from tests at several sizes; and the error.

    The power of n rows is taken to be that of a normal gap: ``Phi(a sqrt(n) - q)``.
    """
    from scipy.optimize import minimize_scalar
    from scipy.stats import norm

    sizes = np.repeat(list(results), [len(rows) for rows in results.values()])
    hits = np.concatenate([[row["hit"] for row in rows] for rows in results.values()])
    quantile = norm.ppf(1 - ALPHA / 2)

    def surprise(a: float) -> float:
        chances = np.clip(norm.cdf(a * np.sqrt(sizes) - quantile), 1e-12, 1 - 1e-12)
        return -float(np.log(np.where(hits, chances, 1 - chances)).sum())

    best = float(minimize_scalar(surprise, bounds=(1e-3, 1.0), method="bounded").x)
    step = 1e-3 * best
    curvature = (surprise(best + step) - 2 * surprise(best) + surprise(best - step)) / step**2
    rows = ((norm.ppf(POWER) + quantile) / best) ** 2
    return float(rows), float(2 * rows / best / curvature**0.5)


def one(key: dict[str, Any]) -> dict[str, Any]:
    """One draw of one line of one table."""
    if key["table"] == "tried":
        return tried(PLANNED[key["line"]], key["size"], key["draw"])
    if key["table"] == "planned":
        return planned(PLANNED[key["line"]], key["draw"], key["seed"])
    run = found if key["table"] == "found" else flagged
    return run(FOUND[key["line"]], key["draw"])


def rate(results: list[dict[str, Any]]) -> str:
    """Draws, the rate, and its interval."""
    hits = sum(result["hit"] for result in results)
    low, high = binomtest(hits, len(results)).proportion_ci(method="wilson")
    return f"{len(results)} | {hits / len(results):.3f} | {low:.3f} to {high:.3f}"


def main() -> None:
    """Run the settings and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--share", type=float, default=1.0, help="share of the draws to run")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--known", action="store_true", help="only what the journal holds")
    parser.add_argument("--only", help="make the draws of one TABLE or TABLE:LINE, and no page")
    args = parser.parse_args()
    keys: list[dict[str, Any]] = [
        {"table": table, "line": line, "draw": i, "seed": seed}
        for table, lines in (("found", FOUND), ("planned", PLANNED))
        for line, setting in enumerate(lines)
        for seed in setting.seeds
        for i in range(max(1, int(args.share * setting.draws)))
    ]
    keys += [
        {"table": "tried", "line": line, "size": size, "draw": i, "seed": SEED}
        for line, setting in enumerate(PLANNED)
        for size in setting.tried
        for i in range(max(1, int(args.share * setting.tests)))
        if tests_of(line) == line
    ]
    keys += [
        {"table": "flagged", "line": line, "draw": i, "seed": SEED}
        for line, setting in enumerate(FOUND)
        for i in range(max(1, int(args.share * min(FLAGGED, setting.draws))))
    ]
    if args.only:
        wanted = [key for key in keys if f"{key['table']}:{key['line']}:".startswith(args.only)]
        resume_map(one, wanted, file=JOURNAL, n_jobs=args.jobs)
        return
    if args.known:
        with Journal(JOURNAL) as journal:
            held = [row["key"] for row in journal.rows]
        keys = [key for key in keys if key in held]
    results = resume_map(one, keys, file=JOURNAL, n_jobs=args.jobs)
    by_line: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for key, result in zip(keys, results, strict=True):
        by_line.setdefault((key["table"], key["line"]), []).append({**key, **result})
    text = page(by_line)
    print(text)
    if args.out:
        args.out.write_text(text, encoding="utf-8")


def seeds_apart(k: int, by_line: dict[tuple[str, int], list[dict[str, Any]]]) -> list[str]:
    """The rates by seed, for a line that has several."""
    setting, results = PLANNED[k], by_line.get(("planned", k), [])
    if len(setting.seeds) == 1:
        return []
    parts = []
    for seed in setting.seeds:
        hits = [r["hit"] for r in results if r["seed"] == seed]
        parts.append(f"seed {seed} found {sum(hits)} of {len(hits)}")
    return ["", f"By seed, {setting.name}: {', '.join(parts)}."]


def tests_of(line: int) -> int:
    """The first line with the same model and gap: the same rows are needed there."""
    own = PLANNED[line]
    return next(k for k, one in enumerate(PLANNED) if (one.how, one.gap) == (own.how, own.gap))


def planned_line(k: int, by_line: dict[tuple[str, int], list[dict[str, Any]]]) -> str:
    """One line of the second table."""
    setting, results = PLANNED[k], by_line.get(("planned", k), [])
    tests: dict[int, list[dict[str, Any]]] = {}
    for row in by_line.get(("tried", tests_of(k)), []):
        tests.setdefault(row["size"], []).append(row)
    name = f"| {setting.name} | {setting.rows} | {setting.gap:g} |"
    if not results or not tests:
        return f"{name} not counted yet | | | | | 0 | | |"
    needed, error = rows_needed(tests)
    low, middle, high = np.quantile([r["gap"] for r in results], [0.1, 0.5, 0.9])
    ranged = [r for r in results if "low" in r]
    own = [float(np.median([r[end] for r in ranged])) for end in ("low", "high")]
    holds = float(np.mean([r["low"] <= needed <= r["high"] for r in ranged]))
    return (
        f"{name} {needed:.0f} ± {error:.0f} | {middle:.0f} | {low:.0f} to {high:.0f} | "
        f"{own[0]:.0f} to {own[1]:.0f} | {holds:.2f} | {rate(results)} |"
    )


def page(by_line: dict[tuple[str, int], list[dict[str, Any]]]) -> str:
    """Both tables."""
    lines = [
        "# Smallest detectable gaps and planned power",
        "",
        "<!-- Written by benchmarks/studies/planned_power.py; do not edit. -->",
        "",
        "The smallest detectable gap of a comparison without a shift, and how often the verdict of",
        "a comparison of new samples with just that gap was a risk shift: it should be 0.80. The",
        "gap is the median over the draws; what a single comparison does not know about the losses",
        f"is part of the rate. Seed {SEED}, {RESAMPLES} permutations, level {ALPHA:g}. Command:",
        "`python benchmarks/studies/planned_power.py --out docs/measured/planned_power.md`.",
        "",
        "*Asymptotic*: how many comparisons say so of this gap, because a side has few",
        "rows, is very skewed or has a heavy tail.",
        "",
        "| what is compared | rows | gap | asymptotic | draws | found | 95 % interval |",
        "|---|---|---|---|---|---|---|",
    ]
    for k, setting in enumerate(FOUND):
        results = by_line.get(("found", k), [])
        if not results:
            lines.append(f"| {setting.name} | {setting.rows} | not counted yet | | 0 | | |")
            continue
        gap = float(np.median([r["gap"] for r in results if r["gap"] is not None]))
        said = [r["hit"] for r in by_line.get(("flagged", k), [])]
        share = f"{sum(said)} of {len(said)}" if said else ""
        name = f"| {setting.name} | {setting.rows} | {gap:.3g} | {share} |"
        lines.append(f"{name} {rate(results)} |")
    lines += [
        "",
        f"Rows that a pilot without a shift plans for a power of {POWER:g}, and how often r-div of",
        "new samples of that size found the gap. Rows are those of reference, and of current.",
        "*Needed*: rows that find it so often, from tests at up to three sizes, with a standard",
        "error. *Over pilots*: the range between which four of five pilots planned. *Of a pilot*:",
        "the median of the ranges that single pilots print; at least four of five of them should",
        "hold the number needed, and *hold it* says how many do.",
        "",
        "| model | pilot | gap | needed | planned, median | over pilots | of a pilot | hold it | "
        "draws | found | 95 % interval |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [planned_line(k, by_line) for k in range(len(PLANNED))]
    lines += [text for k in range(len(PLANNED)) for text in seeds_apart(k, by_line)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
