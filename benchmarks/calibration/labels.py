"""Count false alarms where current has no labels, and how often the intervals cover.

    python benchmarks/calibration/labels.py --out docs/measured/calibration_labels.md

Counts are made in parts, which a journal keeps; a second call goes on where the first one ended.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.checks import check_pvalues, classes, numbers
from benchmarks.calibration.in_use import discrete, repeated
from benchmarks.calibration.split_coverage import DESIGNS, FRESH, inputs, truth

from rdiv.comparison.models import Models, choose_models
from rdiv.comparison.unlabelled import ExpectedOnCurrent, ask_unlabelled, learn_expected
from rdiv.discrepancies import InUse
from rdiv.inference.engine import PermutationSettings
from rdiv.inference.prediction_powered import powered_gap
from rdiv.models import Frozen
from rdiv.models.protocol import predictions_of
from rdiv.parallel.threads import one_thread
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import PooledSamples, pool_unlabelled
from rdiv.studies.journal import Journal
from rdiv.two_sample import part_of_reference, run_learned, split_reference

Floats = NDArray[np.float64]
SEED, DRAWS, FEWER, BROKEN_DRAWS, RESAMPLES, PART = 61, 5000, 2000, 500, 19, 50
DRAWS_EXPECTED, DRAWS_PPI, ALPHA = 2000, 2000, 0.05
SIZES = (240, 60)
BOUNDS = (0.92, 0.98)
JOURNAL = Path(__file__).resolve().parents[1] / "studies" / "journals" / "calibration_labels.jsonl"
SETTINGS = PermutationSettings(0.1, RESAMPLES)


# --- false alarms ---------------------------------------------------------------------------------


def deployed() -> Frozen:
    """A line that was trained elsewhere."""

    class Trained:
        def predict(self, x: Floats) -> Floats:
            return np.asarray(x)[:, 0]

    return Frozen(Trained(), trained_on="neither")


def forest() -> Any:
    """A model that is much surer of the rows that it has seen."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=20)


def neighbours() -> Any:
    """A model that is certain of the rows that it has seen."""
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(5, weights="distance")


def copied(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """Classes that are hard to predict; every row stands twice, anywhere in both files."""
    n = n_p + n_q
    x = rng.normal(size=(n, 3))
    y = (x[:, 0] + 2 * rng.logistic(size=n) > 0).astype(int)
    y[:2] = 0, 1
    rows = rng.permutation(np.arange(n) % (n // 2))
    return {"p": (x[rows][:n_p], y[rows][:n_p]), "q": (x[rows][n_p:], y[rows][n_p:])}


@dataclass(frozen=True)
class Cell:
    """A model on one kind of null data; with ties only too many rejections count."""

    draw: Callable[[int, int, np.random.Generator], dict[str, Any]]
    model: Callable[[], Any]
    fixed: bool
    ties: bool = False
    draws: int = DRAWS


CELLS = {
    "ridge, one seed per draw": Cell(numbers, lambda: "ridge", False),
    "ridge, the same seed": Cell(numbers, lambda: "ridge", True),
    "logistic, the same seed": Cell(classes, lambda: "logistic", True, draws=FEWER),
    "a given model, the same seed": Cell(numbers, deployed, True, draws=FEWER),
    "logistic, few distinct rows, the same seed": Cell(
        discrete, lambda: "logistic", True, True, FEWER
    ),
    "ridge, a third of the rows twice, the same seed": Cell(
        repeated, lambda: "ridge", True, True, FEWER
    ),
    "neighbours, every row twice, the same seed": Cell(copied, neighbours, True, True, FEWER),
}


def blind(draw: dict[str, Any], seed: int, model: Any) -> tuple[Models, PooledSamples]:
    """The models and the pool of a draw whose current targets are thrown away."""
    given = isinstance(model, Frozen)
    models = choose_models(model, folds=2, supervised=True, retrain=None if given else "same")
    pooled = pool_unlabelled(draw["p"], draw["q"][0], rng=seed, kind=models.kind)
    return models, pooled


def null_pvalue(name: str, i: int) -> float:
    """The p-value of one draw."""
    cell = CELLS[name]
    drawn = cell.draw(*SIZES, np.random.default_rng([SEED, i]))
    models, pooled = blind(drawn, 0 if cell.fixed else i, cell.model())
    return ask_unlabelled(models, pooled, SETTINGS, train_share=0.5).result.pvalue


def fixed_pool(i: int) -> float:
    """Random splits of one pool of 300 rows, always with the same seed."""
    drawn = numbers(*SIZES, np.random.default_rng([SEED, 7]))
    x, y = (np.concatenate(pair) for pair in zip(drawn["p"], drawn["q"], strict=True))
    rows = np.random.default_rng([SEED, 8, i]).permutation(len(x))
    first, last = rows[: SIZES[0]], rows[SIZES[0] :]
    models, pooled = blind({"p": (x[first], y[first]), "q": (x[last], y[last])}, 7, "ridge")
    return ask_unlabelled(models, pooled, SETTINGS, train_share=0.5).result.pvalue


def learned_from_b(i: int) -> float:
    """Model and g are learned from the reference rows that are tested."""
    drawn = classes(*SIZES, np.random.default_rng([SEED, i]))
    models, pooled = blind(drawn, i, forest())
    used, _ = models.settled(pooled.pool)
    split = split_reference(pooled, 0.5, part_of_reference(pooled, 0.5))
    tested = np.flatnonzero(split.tested.is_p)
    own = split.tested.with_labels(tested, anew=True)
    own = replace(own, known_keys=own.keys + np.uint64(1))  # its rows are not known again
    test = learn_expected(InUse(used), replace(split, train=own))
    return run_learned(InUse(used), test, split, pooled, SETTINGS)[0].pvalue


def keys_with_a_target(i: int) -> float:
    """Keys know the target of reference rows: only copies among these are found again in part A.

    So of the rows that part A has, current ones alone get predictions of a model that saw them.
    """
    drawn = copied(*SIZES, np.random.default_rng([SEED, i]))
    models, pooled = blind(drawn, i, neighbours())
    assert pooled.apart is not None
    assert pooled.apart.keys is not None
    used, _ = models.settled(pooled.pool)
    one_sided = np.where(pooled.is_p[:, None], pooled.apart.keys, pooled.pool.keys)
    pooled = replace(pooled, pool=replace(pooled.pool, known_keys=one_sided))
    split = split_reference(pooled, 0.5, part_of_reference(pooled, 0.5))
    test: ExpectedOnCurrent = learn_expected(InUse(used), split)
    return run_learned(InUse(used), test, split, pooled, SETTINGS)[0].pvalue


BROKEN = {
    "model and g learned from the tested reference rows": learned_from_b,
    "keys made with the target on one side, neighbours, every row twice": keys_with_a_target,
}


# --- coverage of the expected gap -----------------------------------------------------------------


def expected_row(name: str, i: int) -> list[float]:
    """Whether the interval of the expected gap covers, its value and the truth; 2 for no gap."""
    design, rng = DESIGNS[name], np.random.default_rng([SEED + 1, i])
    x, more = inputs(2 * design.rows, False, rng), inputs(design.rows, True, rng)
    given = not isinstance(design.model, str)
    model = Frozen(design.model, trained_on="neither") if given else design.model
    models = choose_models(model, folds=2, supervised=True, retrain=None if given else "same")
    y = design.targets(x, False, rng)
    pooled = pool_unlabelled((x, y), more, task=design.task, rng=i, kind=models.kind)
    found = ask_unlabelled(models, pooled, SETTINGS, train_share=0.5)
    gap = found.expected(pooled, ALPHA).gap
    if gap is None:
        return [2.0, 0.0, 0.0]
    said = found.test.learned

    def loss(rows: Floats, current: bool) -> Floats:
        if given:
            return design.loss(rows, current, design.model.predict(rows))
        own: Any = said
        pool = Pool(rows, task="regression").like(own.trained)
        values = predictions_of(own.fitted, pool)
        assert values is not None
        return design.loss(rows, current, values[:, 0])

    true = truth(loss, FRESH // 4, np.random.default_rng([SEED + 2, 0 if given else i]))[0]
    return [float(gap.low <= true <= gap.high), gap.value, true]


# --- prediction-powered gaps ----------------------------------------------------------------------


@dataclass(frozen=True)
class Powered:
    """Losses with a part that g knows, and how many rows there are.

    `share` is the share of the loss's variance that g explains, `bias` what g adds to every loss.
    """

    labelled: int
    unlabelled: int
    reference: int
    share: float
    bias: float = 0.0
    skewed: bool = False


POWERED = {
    "half explained": Powered(200, 10_000, 10_000, 0.5),
    "half explained, g off by 2": Powered(200, 10_000, 10_000, 0.5, 2.0),
    "half explained, skewed losses": Powered(200, 10_000, 10_000, 0.5, 0.0, True),
    "a tenth explained": Powered(200, 10_000, 10_000, 0.1),
    "nothing explained": Powered(200, 10_000, 10_000, 0.0),
    "nothing explained, 30 labels": Powered(30, 2000, 2000, 0.0),
    "half explained, 30 labels": Powered(30, 2000, 2000, 0.5),
    "half explained, few unlabelled": Powered(200, 50, 2000, 0.5),
}


def powered_row(name: str, i: int) -> list[float]:
    """Whether PPI and the labelled rows alone cover the true gap, and both widths."""
    case, rng = POWERED[name], np.random.default_rng([SEED + 3, list(POWERED).index(name), i])

    def sample(n: int, mean: float) -> tuple[Floats, Floats]:
        known = rng.normal(size=n) if not case.skewed else rng.exponential(size=n) - 1
        noise = rng.normal(size=n) if not case.skewed else rng.exponential(size=n) - 1
        losses = mean + np.sqrt(case.share) * known + np.sqrt(1 - case.share) * noise
        return losses, known + case.bias

    reference, _ = sample(case.reference, 0.0)
    losses, expected = sample(case.labelled, 0.3)
    _, rest = sample(case.unlabelled, 0.3)
    found = powered_gap(reference, losses, expected, rest, ALPHA).gap
    alone = powered_gap(reference, losses, np.zeros(len(losses)), np.zeros(2), ALPHA).gap
    return [
        float(found.low <= 0.3 <= found.high), float(alone.low <= 0.3 <= alone.high),
        found.high - found.low, alone.high - alone.low,
    ]  # fmt: skip


# --- the page -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """One count of the page: its name, what makes a draw, and how many draws are wanted."""

    name: str
    run: Callable[[int], Any]
    draws: int
    at_once: int = 1  # parts that are made in one round

    def kept(self, journal: Journal) -> list[Any]:
        """The numbers of all draws that the journal has."""
        found = {row["start"]: row["values"] for row in journal.rows if row["name"] == self.name}
        return [value for start in sorted(found) for value in found[start]]

    def make(self, journal: Journal, until: float, most: int) -> None:
        """Make some of the parts that are missing, as far as the time allows."""
        known = {row["start"] for row in journal.rows if row["name"] == self.name}
        lacking = [start for start in range(0, self.draws, PART) if start not in known]
        for start in lacking[:most]:
            if time() > until:
                return
            made = [self.run(i) for i in range(start, start + PART)]
            rounded = [np.round(one, 5).tolist() for one in made]
            journal.append({"name": self.name, "start": start, "values": rounded})


def lines() -> list[Line]:
    """All counts, the short ones first."""
    powered = [
        Line(f"powered: {name}", partial(powered_row, name), DRAWS_PPI, 40) for name in POWERED
    ]
    broken = [Line(f"broken: {name}", run, BROKEN_DRAWS) for name, run in BROKEN.items()]
    cells = [
        Line(name, partial(null_pvalue, name), cell.draws, 1 if cell.ties else 6)
        for name, cell in CELLS.items()
    ]
    expected = [Line(f"expected: {name}", partial(expected_row, name), DRAWS_EXPECTED)
                for name in DESIGNS]  # fmt: skip
    pool = Line("ridge, one pool, the same seed", fixed_pool, FEWER)
    return [*powered, *broken, *expected, *cells, pool]


def share(count: float, draws: int) -> str:
    """A rate with its Wilson interval."""
    low, high = binomtest(int(count), draws).proportion_ci(method="wilson")
    return f"{count / draws:.3f} ({low:.3f} to {high:.3f})"


def covering(hits: int, draws: int) -> str:
    """Whether a coverage lies within the bounds; open while the draws cannot tell."""
    low, high = binomtest(hits, draws).proportion_ci(method="wilson")
    if high < BOUNDS[0] or low > BOUNDS[1]:
        return "MISSES"
    if draws < FEWER:
        return "open, few draws"
    return "holds" if BOUNDS[0] <= hits / draws <= BOUNDS[1] else "MISSES"


def verdict(pvalues: Floats, *, ties: bool) -> str:
    """Whether the level holds: two-sided, and the whole distribution, where there are no ties."""
    if not ties:
        return "holds" if check_pvalues(pvalues, RESAMPLES).passed else "STRAYS"
    counts = [binomtest(int((pvalues <= a + 1e-9).sum()), len(pvalues), a, alternative="greater")
              for a in (0.05, 0.1)]  # fmt: skip
    return "holds" if min(one.pvalue for one in counts) > 1e-3 else "STRAYS"


INTRO = """\
# Labels that are absent or few: levels and intervals

<!-- Written by benchmarks/calibration/labels.py; do not edit. -->

## False alarms without labels

Reference and current come from one distribution, and current has lost its targets: {p} + {q} rows,
part A is half of the reference, {resamples} permutations. The test of the expected losses must
reject at level .05 and .10 just as often (a check fails about once in a thousand right lines); with
ties, not more often. *One pool*: random splits of one pool, always with the same seed. The last
lines are deliberately broken and must be caught. With keys that know the target on one side, only
reference rows that also stand in part A get the prediction of a fit without them; a model that is
certain of what it has seen, such as nearest neighbours, then shows which side a copy is on.
Draw i has the seed [{seed}, i]. Command:
`python benchmarks/calibration/labels.py --out docs/measured/calibration_labels.md`.LACKING

| line | draws | rejected at .05 | at .10 | verdict |
|---|---|---|---|---|\
"""

EXPECTED = """
## Coverage of the expected gap

Share of draws whose 95 % interval covers the true expected gap of the model in use (designs as on
[the page of the split](split_coverage.md): the first of three inputs moves by 0.7 standard
deviations; the relation does not change, which is what is assumed). Twice as many reference rows as
current rows, half of them for part A. It must lie between .92 and .98.

| model | rows | draws | truth | mean | coverage | verdict |
|---|---|---|---|---|---|---|\
"""

PPI = """
## Prediction-powered gaps

Losses whose variance g explains in part; labelled, unlabelled and reference rows as said. Coverage
of the true gap must lie between .92 and .98. *Width*: of the interval, over that of the labelled
rows alone; at most .80 where half is explained and unlabelled rows are many, and never above 1.03.

| losses | labelled + unlabelled, reference | draws | coverage | labelled alone | width | verdict |
|---|---|---|---|---|---|---|\
"""


def page(journal: Journal) -> Iterator[str]:
    """The lines of the page, from what the journal has."""
    wanted = {line.name: line for line in lines()}
    lacking = sum(max(line.draws - len(line.kept(journal)), 0) for line in wanted.values())
    head = INTRO.format(p=SIZES[0], q=SIZES[1], resamples=RESAMPLES, seed=SEED)
    said = f"\n\nUnfinished: {lacking} draws of those planned are lacking." if lacking else ""
    yield from head.replace("LACKING", said).split("\n")
    ties = {name for name, cell in CELLS.items() if cell.ties}
    for name in [*CELLS, "ridge, one pool, the same seed", *(f"broken: {one}" for one in BROKEN)]:
        values = np.array(wanted[name].kept(journal))
        if not len(values):
            continue
        counts = [share((values <= a + 1e-9).sum(), len(values)) for a in (0.05, 0.1)]
        broken = name.startswith("broken")
        word = verdict(values, ties=broken or name in ties)
        if not broken and word == "holds" and len(values) < wanted[name].draws:
            word = "nothing against it, few draws"
        word = ("caught" if word == "STRAYS" else "NOT CAUGHT") if broken else word
        yield f"| {name} | {len(values)} | {counts[0]} | {counts[1]} | {word} |"
    yield from EXPECTED.split("\n")
    for name, design in DESIGNS.items():
        rows = np.array(wanted[f"expected: {name}"].kept(journal)).reshape(-1, 3)
        kept = rows[rows[:, 0] < 2]
        if not len(kept):
            continue
        word = covering(int(kept[:, 0].sum()), len(kept))
        yield (
            f"| {name} | {2 * design.rows} + {design.rows} | {len(kept)} | "
            f"{kept[:, 2].mean():+.3f} | {kept[:, 1].mean():+.3f} | "
            f"{share(kept[:, 0].sum(), len(kept))} | {word} |"
        )
    yield from PPI.split("\n")
    for name, case in POWERED.items():
        rows = np.array(wanted[f"powered: {name}"].kept(journal)).reshape(-1, 4)
        if not len(rows):
            continue
        width = (rows[:, 2] / rows[:, 3]).mean()
        most = 0.8 if case.share >= 0.5 and case.unlabelled > 10 * case.labelled else 1.03
        right = BOUNDS[0] <= rows[:, 0].mean() <= BOUNDS[1] and width <= most
        yield (
            f"| {name} | {case.labelled} + {case.unlabelled}, {case.reference} | {len(rows)} | "
            f"{share(rows[:, 0].sum(), len(rows))} | {rows[:, 1].mean():.3f} | {width:.3f} | "
            f"{'holds' if right else 'MISSES'} |"
        )


def main() -> None:
    """Count what is missing in the journal, and write the page or print it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--journal", type=Path, default=JOURNAL)
    parser.add_argument("--minutes", type=float, default=600.0, help="stop counting after these")
    parser.add_argument("--only", default="", help="count lines whose name has this text")
    args = parser.parse_args()
    until = time() + 60 * args.minutes
    wanted = [line for line in lines() if args.only in line.name]
    with one_thread(), Journal(args.journal) as journal:
        while time() < until and any(len(line.kept(journal)) < line.draws for line in wanted):
            for line in wanted:
                line.make(journal, until, line.at_once)
        text = "\n".join(page(journal)) + "\n"
    print(text)
    if args.out is not None:
        args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
