"""How often any of several levels gets a false word, alone or in a row, and what that needs.

    python benchmarks/calibration/levels.py --out docs/measured/calibration_levels.md

Levels share one reference. Numbers per row are given (a loss of the model in use, a loss and a
gradient of the shared model), so that a draw is cheap and each question can be true or false by
itself. Broken variants must be caught by the same count: a loop that judges every level at the full
alpha, a word that is given without its own question, and a run that is chosen by its data and then
tested as if it had been named before.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rdiv import Comparisons, compare_many
from rdiv.comparison.family import Family
from rdiv.comparison.verdicts import verdict_of
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.mean_gaps import mean_gap
from rdiv.inference.multiplicity import Correction
from rdiv.parallel.threads import one_thread
from rdiv.samples.pool import Pool
from rdiv.studies.journal import Journal

ALPHA = 0.05
SEED = 72
JOURNAL = Path(__file__).resolve().parents[1] / "studies/journals/calibration_levels.jsonl"


@dataclass(frozen=True)
class Columns:
    """A shared model whose loss and gradient are columns of the table."""

    held_out = True
    row_loss = "number"

    def fit(self, pool: Pool, rng: np.random.Generator) -> Columns:
        """Nothing to fit."""
        del pool, rng
        return self

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """The first column."""
        return pool.numbers()[:, 0].astype(float)

    def gradients(self, pool: Pool) -> NDArray[np.float64]:
        """The second column."""
        return pool.numbers()[:, 1:2].astype(float)


SETTINGS: dict[str, Any] = {
    "loss": "loss", "target": "y", "retrain": Columns(), "drivers": False, "n_resamples": 199,
}  # fmt: skip


class Cell(NamedTuple):
    """One setting: sizes, how many levels, and what moves in every one of them."""

    reference: int
    rows: int
    levels: int = 5
    loss: float = 0.0
    gradient: float = 0.0
    draws: int = 1000


CELLS = {
    "nothing moved, 60 + 5 x 60": Cell(60, 60),
    "nothing moved, 300 + 5 x 40": Cell(300, 40),
    "the model in use alone moved, 300 + 5 x 60": Cell(300, 60, loss=0.75, draws=600),
    "gradients alone moved, 300 + 5 x 60": Cell(300, 60, gradient=0.45, draws=600),
}
CORRECTED: tuple[Correction, ...] = ("holm", "bh")
IN_A_ROW = ("in a row, chosen in every permutation", "in a row, as if named (broken)")
DAYS = Cell(400, 40, levels=10, draws=200)


def table(n: int, rng: np.random.Generator, loss: float, gradient: float) -> pl.DataFrame:
    """Rows with skewed losses in use, and a loss and a gradient of the shared model."""
    moved = rng.normal(size=n) ** 2 + loss
    first, second, y = rng.normal(size=(3, n))
    return pl.DataFrame({"loss": moved, "a": first, "b": second + gradient, "y": y})


Drawn = tuple[pl.DataFrame, dict[str, pl.DataFrame]]


def compared(
    cell: Cell, seed: int, gaps: tuple[float, ...] | None = None
) -> tuple[Comparisons, Drawn]:
    """One draw of a cell and its tables; `gaps` moves the loss of every level by its own amount."""
    rng = np.random.default_rng([SEED, seed, cell.reference, cell.rows, cell.levels])
    reference = table(cell.reference, rng, 0.0, 0.0)
    moved = gaps or (cell.loss,) * cell.levels
    levels = {
        f"level {k}": table(cell.rows, rng, moved[k], cell.gradient) for k in range(cell.levels)
    }
    kept = {**SETTINGS, "n_resamples": max(199, 40 * (cell.levels + 1) - 1)}
    return compare_many(reference, levels, rng=seed, **kept), (reference, levels)


def false_words(found: Comparisons, cell: Cell) -> dict[str, bool]:
    """Whether each procedure gives any level a word that is wrong."""
    ones = {level.name: level.comparison for level in found.tested if level.comparison}
    run, size = found.run, len(ones) + 1
    families = {name: Family(size, ALPHA, name, None, 0) for name in CORRECTED}
    judged = {name: family.judged(ones, run) for name, family in families.items()}
    words: dict[str, bool] = {
        name: any(_wrong(str(level.verdict), cell) for level in levels.values())
        for name, levels in judged.items()
    }
    if not cell.loss and not cell.gradient:  # then levels in a row are a false word, too
        for name, family in families.items():
            row = family.adjusted_run(ones, run)
            words[name] |= row is not None and row.shown
    alone = [verdict_of(one.adjusted_pvalues, one.pvalue, ALPHA, "in-use") for one in ones.values()]
    words["each level alone (broken)"] = any(_wrong(str(word), cell) for word in alone)
    blind = [
        "hidden shift" if level.verdict == "shift, kind not established" else str(level.verdict)
        for level in judged["holm"].values()
    ]
    words["hidden shift without its own question (broken)"] = any(_wrong(w, cell) for w in blind)
    return words


def _wrong(word: str, cell: Cell) -> bool:
    """Whether a word says of a level what is not so; nothing is said by "kind not established"."""
    if not cell.loss and not cell.gradient:
        return word != "no shift"
    return word == ("hidden shift" if cell.loss else "risk shift")


def false_runs(found: Comparisons, drawn: Drawn, seed: int) -> dict[str, bool]:
    """Whether consecutive levels raise a false alarm at .05, by the real and the broken p-value."""
    if found.run is None:
        return dict.fromkeys(IN_A_ROW, False)
    reference, levels = drawn
    chosen = pl.concat([levels[name] for name in found.run.levels])
    losses = np.concatenate([reference["loss"].to_numpy(), chosen["loss"].to_numpy()])
    is_p = np.arange(len(losses)) < len(reference)
    rng = np.random.default_rng([SEED, 1, seed])
    named = permute(mean_gap(losses), is_p, PermutationSettings(n_resamples=99), rng=rng)
    return dict(zip(IN_A_ROW, (found.run.pvalue <= ALPHA, named.pvalue <= ALPHA), strict=True))


def counts(name: str, journal: Journal, share: float) -> dict[str, int]:
    """False words of a cell by procedure, with the number of draws; kept in the journal."""
    cell = CELLS[name]
    draws = max(1, int(share * cell.draws))
    for row in journal.rows:
        if (row["cell"], row["draws"]) == (name, draws):
            return {"draws": draws, **row["counts"]}
    total: dict[str, int] = {}
    for seed in range(draws):
        found, drawn = compared(cell, seed)
        both = false_words(found, cell)
        if not cell.loss and not cell.gradient:
            both |= false_runs(found, drawn, seed)
        for procedure, wrong in both.items():
            total[procedure] = total.get(procedure, 0) + int(wrong)
    journal.append({"cell": name, "draws": draws, "counts": total})
    return {"draws": draws, **total}


def ten_days(journal: Journal, share: float) -> tuple[int, int, int]:
    """Draws, and in how many any of ten worse days is shown alone, and in a row."""
    draws = max(1, int(share * DAYS.draws))
    for row in journal.rows:
        if (row["cell"], row["draws"]) == ("ten days", draws):
            return draws, row["counts"]["alone"], row["counts"]["row"]
    alone = together = 0
    for seed in range(draws):
        gaps = tuple(np.random.default_rng([SEED, 2, seed]).uniform(0.33, 0.61, DAYS.levels))
        found, _ = compared(DAYS, seed, gaps)
        alone += any(level.verdict == "risk shift" for level in found.levels)
        together += found.run_shown
    journal.append(
        {"cell": "ten days", "draws": draws, "counts": {"alone": alone, "row": together}}
    )
    return draws, alone, together


HEAD = """# Many levels, no shift

<!-- Written by benchmarks/calibration/levels.py; do not edit. -->

Levels against one reference: how often *any* level is given a word that is wrong, at alpha = .05.
Numbers per row are given (239 permutations). Where nothing moved, every word is wrong, that of
levels in a row included; the p-value of a run is counted by itself below it. Where the
loss of the model in use alone moved, "hidden shift" is: it claims that the shared loss or the
gradients changed. Where gradients alone moved, "risk shift" is. Holm promises at most .05; so does
Benjamini-Hochberg where nothing moved, since every finding is false then.

Broken variants must be caught where they can be: a loop that judges each level at .05; a "hidden
shift" that is said of every level that differs without a risk shift of its own; and a run of levels
that is chosen by its data and then tested as if it had been named before.

| what moved, rows | procedure | draws | any false word | 95 % interval |
|---|---|---|---|---|"""


def page(journal: Journal, share: float, bad: list[str]) -> Iterator[str]:
    """The lines of the page; what is not as it should be is added to `bad`."""
    yield from HEAD.split("\n")
    caught: dict[str, bool] = {}
    for name in CELLS:
        found = counts(name, journal, share)
        draws = found.pop("draws")
        for procedure, count in found.items():
            if procedure == "bh" and not name.startswith("nothing"):
                continue  # it bounds a share, not the probability of any
            low, high = binomtest(count, draws).proportion_ci(method="wilson")
            cells = (
                name,
                procedure,
                f"{draws}",
                f"{count / draws:.3f}",
                f"{low:.3f} to {high:.3f}",
            )
            yield "| " + " | ".join(cells) + " |"
            high_rate = binomtest(count, draws, ALPHA, alternative="greater").pvalue < 0.001
            if "broken" in procedure:
                caught[procedure] = caught.get(procedure, False) or high_rate
            elif high_rate:
                bad.append(f"{name}, {procedure}")
    bad += [f"{procedure} was not caught" for procedure, found in caught.items() if not found]
    draws, alone, together = ten_days(journal, share)
    yield from (
        "",
        f"Ten days of 40 rows, each worse by .33 to .61, against 400 reference rows ({draws} "
        f"draws): any day alone was shown in {alone / draws:.2f} of the draws, the days in a row "
        f"in {together / draws:.2f}.",
        "",
        "Command: `python benchmarks/calibration/levels.py --out "
        "docs/measured/calibration_levels.md`; seeds from 0 on.",
    )


def main() -> None:
    """Count what is missing in the journal, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--share", type=float, default=1.0, help="share of the draws to make")
    parser.add_argument("--out", type=Path, help="markdown page to write")
    parser.add_argument("--journal", type=Path, default=JOURNAL)
    args = parser.parse_args()
    bad: list[str] = []
    with one_thread(), Journal(args.journal) as journal:
        text = "\n".join(page(journal, args.share, bad)) + "\n"
    print(text)
    if args.out:
        args.out.write_text(text, encoding="utf-8")
    if bad:
        raise SystemExit("not as it should be: " + "; ".join(bad))


if __name__ == "__main__":
    main()
