"""The loss to expect without labels, against the loss that labels show: rdiv, entropy, NannyML.

    python benchmarks/studies/labels_accuracy.py --nannyml PYTHON --out PAGE

The page is docs/measured/labels_accuracy.md. Needs `acs_employment_ma.npz` and
`bike_sharing_hour.npz` in RDIV_DATA. `PYTHON` is an interpreter with nannyml and statsmodels (`pip
install nannyml statsmodels` in a virtual environment of its own); its columns are empty without
one. Finished lines are kept in a journal.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import time
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rdiv.comparison.compare import admit
from rdiv.comparison.unlabelled import ask_unlabelled
from rdiv.inference.engine import PermutationSettings
from rdiv.losses import log_loss
from rdiv.parallel.threads import one_thread
from rdiv.sources.data_files import data_dir
from rdiv.studies.journal import Journal

Floats = NDArray[np.float64]
TRAIN, REFERENCE, CURRENT, DRAWS, SEED, WEIGHT = 5000, 4000, 2000, 20, 2411, 8.0
LIMIT = 600
HERE = Path(__file__).resolve().parent
JOURNAL = HERE / "journals" / "labels_accuracy.jsonl"
RESAMPLED, NATURAL = 0.8, 1.05
SETTINGS = PermutationSettings(0.05, 19)


@dataclass(frozen=True)
class Table:
    """Inputs, target and year of all rows of one table."""

    x: Floats
    y: Floats
    year: NDArray[np.int64]
    columns: tuple[str, ...]
    classes: bool


@lru_cache(maxsize=1)
def census() -> Table:
    """People in Massachusetts, and whether they are employed."""
    with np.load(data_dir() / "acs_employment_ma.npz", allow_pickle=False) as file:
        names = tuple(str(name) for name in file["columns"])
        x, y = file["x"].astype(float), file["y"].astype(float)
        return Table(x, y, file["year"].astype(int), names, True)


@lru_cache(maxsize=1)
def bikes() -> Table:
    """Hours, and hundreds of rentals."""
    with np.load(data_dir() / "bike_sharing_hour.npz", allow_pickle=False) as file:
        names = [str(name) for name in file["columns"]]
        x = file["x"].astype(float)
    kept = [j for j, name in enumerate(names) if name not in ("casual", "registered", "count")]
    y, year = x[:, names.index("count")] / 100, x[:, names.index("year")].astype(int)
    kept = [j for j in kept if names[j] != "year"]
    return Table(x[:, kept], y, 2011 + year, tuple(names[j] for j in kept), False)


def at_least(column: str, value: float) -> Callable[[Table], NDArray[np.bool_]]:
    """Rows whose column has at least a value."""
    return lambda table: table.x[:, table.columns.index(column)] >= value


@dataclass(frozen=True)
class Case:
    """Where current rows come from: rows that get more weight, or another year."""

    data: Callable[[], Table]
    loss: str  # "log", "0/1" or "squared"
    heavier: Callable[[Table], NDArray[np.bool_]] | None = None
    years: tuple[int, int] = (2015, 2015)

    @property
    def natural(self) -> bool:
        """Whether the shift is one of years."""
        return self.heavier is None


CENSUS = {
    "older people": at_least("AGEP", 60),
    "more schooling": at_least("SCHL", 20),
    "women": at_least("SEX", 2),
    "never married": at_least("MAR", 5),
}
BIKES = {
    "later hours": at_least("hour", 16),
    "warmer": at_least("temp", 0.6),
    "more humid": at_least("humidity", 0.75),
    "working days": at_least("workingday", 1),
}
CASES = {
    **{f"census, {name}, {loss} loss": Case(census, loss, rows)
       for name, rows in CENSUS.items() for loss in ("log", "0/1")},
    **{f"bikes, {name}, squared error": Case(bikes, "squared", rows, (2011, 2011))
       for name, rows in BIKES.items()},
    **{f"census, {year}, {loss} loss": Case(census, loss, None, (2015, year))
       for year in (2016, 2018) for loss in ("log", "0/1")},
    "bikes, 2012, squared error": Case(bikes, "squared", None, (2011, 2012)),
}  # fmt: skip


@dataclass(frozen=True)
class Draw:
    """Reference and current rows, and what the model in use predicts for both."""

    x: tuple[Floats, Floats]
    y: tuple[Floats, Floats]
    score: tuple[Floats, Floats]
    gaps: dict[str, float]  # by kind of loss

    def reference_loss(self, kind: str) -> float:
        """Mean loss on the reference."""
        return float(_losses(kind, self.y[0], self.score[0]).mean())


def _losses(kind: str, y: Floats, score: Floats) -> Floats:
    if kind == "squared":
        return np.asarray((y - score) ** 2)
    if kind == "0/1":
        return np.asarray((score >= 0.5) != (y == 1)) * 1.0
    return log_loss(y.astype(int), np.stack([1 - score, score], axis=1))


def drawn(case: Case, i: int) -> Draw:
    """A draw of a case; those of several losses are the same."""
    return _drawn(case.data, case.heavier, case.years, i)


@lru_cache(maxsize=2 * DRAWS)
def _drawn(
    data: Callable[[], Table],
    heavier: Callable[[Table], NDArray[np.bool_]] | None,
    years: tuple[int, int],
    i: int,
) -> Draw:
    """Train the model in use on its own rows, and draw a reference and current rows.

    The gap is the true one of resampled rows, from all rows that were drawn from, and the realised
    one of years.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    table, rng = data(), np.random.default_rng([SEED, i])
    own, later = (np.flatnonzero(table.year == year) for year in years)
    own = rng.permutation(own)
    sizes = (TRAIN, REFERENCE) if table.classes else (TRAIN // 2, 3 * REFERENCE // 4)
    train, reference = own[: sizes[0]], own[sizes[0] : sum(sizes)]
    rest = own[sum(sizes) :] if years[0] == years[1] else later
    weight = np.ones(len(rest))
    if heavier is not None:
        weight = np.where(heavier(table)[rest], WEIGHT, 1.0)
    current = rng.choice(rest, size=CURRENT, replace=heavier is not None, p=weight / weight.sum())
    make: Any = HistGradientBoostingClassifier if table.classes else HistGradientBoostingRegressor
    model = make(max_iter=100, random_state=0).fit(table.x[train], table.y[train])

    def score(rows: NDArray[np.intp]) -> Floats:
        x = table.x[rows]
        return np.asarray(model.predict_proba(x)[:, 1] if table.classes else model.predict(x))

    known, now = score(reference), score(current)
    of_rest = None if heavier is None else score(rest)
    gaps = {}
    for kind in ("log", "0/1") if table.classes else ("squared",):
        if of_rest is None:
            gap = _losses(kind, table.y[current], now).mean()
            gap -= _losses(kind, table.y[reference], known).mean()
        else:
            losses = _losses(kind, table.y[rest], of_rest)
            gap = np.average(losses, weights=weight) - losses.mean()
        gaps[kind] = float(gap)
    return Draw(
        (table.x[reference], table.x[current]), (table.y[reference], table.y[current]),
        (known, now), gaps,
    )  # fmt: skip


def ours(case: Case, draw: Draw, i: int) -> float:
    """The gap that rdiv expects; missing without overlap."""
    frames = []
    for side in range(2):
        columns = {f"x{j}": draw.x[side][:, j] for j in range(draw.x[side].shape[1])}
        frame = pl.DataFrame({**columns, "score": draw.score[side]})
        y = draw.y[side]
        if side == 0:
            target = y if case.loss == "squared" else y.astype(int)
            frame = frame.with_columns(target=pl.Series(target))
        if case.loss == "0/1":
            frame = frame.with_columns(said=pl.Series((draw.score[side] >= 0.5).astype(int)))
        frames.append(frame)
    prediction = "said" if case.loss == "0/1" else "score"
    admitted = admit(
        *frames, model=None, target="target", prediction=prediction, loss=None, retrain=None,
        drop=(), task=None, folds=None, groups=None, strata=None, rng=i, n_jobs=None,
    )  # fmt: skip
    found = ask_unlabelled(admitted.models, admitted.pooled, SETTINGS, train_share=0.5)
    gap = found.expected(admitted.pooled, 0.05).gap  # what compare reports, without the rest of it
    return float("nan") if gap is None else gap.value


def entropy(case: Case, draw: Draw) -> float:
    """The mean loss on current if predicted probabilities were right."""
    p = np.clip(draw.score[1], 1e-12, 1 - 1e-12)
    if case.loss == "0/1":
        return float(np.minimum(p, 1 - p).mean())
    return float(-(p * np.log(p) + (1 - p) * np.log(1 - p)).mean())


def nannyml(case: Case, draws: list[Draw], python: str | None) -> list[float] | str:
    """What NannyML expects, or why there is nothing."""
    if case.loss == "log":
        return "no log loss"
    if python is None:
        return "not run"
    arrays: dict[str, Any] = {"count": len(draws)}
    for i, draw in enumerate(draws):
        for side, name in enumerate(("reference", "current")):
            arrays |= {f"{name}_x_{i}": draw.x[side], f"{name}_y_{i}": draw.y[side],
                       f"{name}_score_{i}": draw.score[side]}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "draws.npz", Path(folder) / "out.json"
        np.savez(path, **arrays)
        kind = "dle" if case.loss == "squared" else "cbpe"
        command = [python, str(HERE / "labels_nannyml.py"), str(path), kind, str(out)]
        try:
            run = subprocess.run(
                command, capture_output=True, text=True, timeout=LIMIT, check=False
            )
        except subprocess.TimeoutExpired:
            return "over 10 minutes"
        if run.returncode:
            return (run.stderr.strip().splitlines() or ["failed"])[-1][:80]
        values: list[float] = json.loads(out.read_text())
    return values


def line(name: str, python: str | None, count: int) -> dict[str, Any]:
    """All draws of a case: true and expected gaps."""
    case = CASES[name]
    draws = [drawn(case, i) for i in range(count)]
    before = [draw.reference_loss(case.loss) for draw in draws]
    expected = [ours(case, draw, i) for i, draw in enumerate(draws)]
    theirs = nannyml(case, draws, python)
    if not isinstance(theirs, str):
        theirs = [one - own for one, own in zip(theirs, before, strict=True)]
    certain = None
    if case.loss != "squared":
        certain = [entropy(case, draw) - own for draw, own in zip(draws, before, strict=True)]
    return {
        "case": name,
        "gap": [draw.gaps[case.loss] for draw in draws],
        "rdiv": [None if np.isnan(value) else value for value in expected],
        "nannyml": theirs,
        "entropy": certain,
    }


INTRO = """\
# The loss to expect without labels, and the loss that labels show

<!-- Written by benchmarks/studies/labels_accuracy.py; do not edit. -->

A boosting model is trained on rows of its own ({train:,} census rows, {half:,} hours of bike
rentals), and its predictions are logged. A draw has {reference:,} labelled reference rows (bikes:
{bikes:,}) and {current:,} current rows whose labels are hidden. *Resampled*: current rows of the
same year, drawn with replacement, some with {weight:g} times the weight of the others, so that only
the inputs move; the true gap is that of all rows that were drawn from. *Years*: current rows of a
later year, and the gap that their labels show. The error of a method is the mean absolute
difference between the gap that it expects and that gap (± standard error); for
the others that is their expected loss on current minus the mean loss on the reference. *No shift*:
a gap of 0 is expected. *Entropy*: predicted probabilities are taken to be right. NannyML 0.13.1:
CBPE for the 0/1 loss, DLE for the squared error, with its defaults; it has no log loss. rdiv: `gap`
of `compare` without labels, from the same rows; for the 0/1 loss it is given the predicted classes,
and the probabilities as an input. Its error is to be at most {resampled} times that of the best
other method on resampled rows, and {natural} times on years.

The cells were looked at before, with other seeds (five draws of 12 of the 17 lines), when it was
settled that the expected gap of a given model uses all reference rows and that resampled rows are
judged by their true gap. That the value leaves out of its correction what may be noise was chosen
on other seeds and other columns: disability, citizenship, moving, race and relationship, and
season, weekday, weather and wind. Nothing was changed after the draws below.
Command: `python benchmarks/studies/labels_accuracy.py --nannyml PYTHON --out
docs/measured/labels_accuracy.md`.\
"""

TABLE = """\
| current rows, loss | draws | gap | no shift | rdiv | entropy | NannyML | rdiv / best | verdict |
|---|---|---|---|---|---|---|---|---|\
"""


def page(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The lines of the page."""
    yield from INTRO.format(
        train=TRAIN, half=TRAIN // 2, reference=REFERENCE, bikes=3 * REFERENCE // 4,
        current=CURRENT, weight=WEIGHT, resampled=RESAMPLED, natural=NATURAL,
    ).split("\n")  # fmt: skip
    if len(rows) < len(CASES):
        yield from ("", f"Unfinished: {len(CASES) - len(rows)} of {len(CASES)} lines are lacking.")
    yield from ("", *TABLE.split("\n"))
    ratios: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    for row in rows:
        case, real = CASES[row["case"]], np.array(row["gap"])

        def error(values: Any, real: Floats = real) -> tuple[float, str] | None:
            if values is None or isinstance(values, str):
                return None
            off = np.abs(np.array(values, dtype=float) - real)
            off = off[np.isfinite(off)]
            if not len(off):
                return None
            spread = off.std(ddof=1) / np.sqrt(len(off))
            lacking = len(real) - len(off)
            text = f"{off.mean():.4f} ± {spread:.4f}" + (f" ({lacking} none)" if lacking else "")
            return float(off.mean()), text

        row["none"] = [0.0] * len(real)
        found = {name: error(row[name]) for name in ("none", "rdiv", "entropy", "nannyml")}
        others = [found[name] for name in ("entropy", "nannyml")]
        best = min((one[0] for one in others if one is not None), default=float("nan"))
        own = found["rdiv"]
        ratio = float("nan") if own is None else own[0] / best
        limit = NATURAL if case.natural else RESAMPLED
        word = "-" if np.isnan(ratio) else "holds" if ratio <= limit else "LOSES"
        if own is not None and not np.isnan(best):
            ratios[case.natural].append((own[0], best))
        cells = [row["case"], str(len(real)), f"{np.mean(row['gap']):+.3f}"]
        for name in found:
            one = found[name]
            missing = row[name] if isinstance(row[name], str) else "-"
            cells.append(missing if one is None else one[1])
        yield "| " + " | ".join([*cells, f"{ratio:.2f}", word]) + " |"
    for natural, pairs in ratios.items():
        if pairs:
            mean = np.mean([own / best for own, best in pairs])
            limit = NATURAL if natural else RESAMPLED
            kind = "Years" if natural else "Resampled"
            yield ""
            yield (
                f"{kind}: rdiv / best other method {mean:.2f} on average over {len(pairs)} lines "
                f"(limit {limit}); {sum(own <= limit * best for own, best in pairs)} lines within."
            )


def main() -> None:
    """Run the lines that the journal lacks, and write the page or print it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--nannyml", help="interpreter that has nannyml")
    parser.add_argument("--journal", type=Path, default=JOURNAL)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no line after these")
    args = parser.parse_args()
    until = time() + 60 * args.minutes
    with one_thread(), Journal(args.journal) as journal:
        for name in CASES:
            known = any(row["case"] == name for row in journal.rows)
            if not known and time() < until:
                journal.append(line(name, args.nannyml, args.draws))
        order = list(CASES)
        rows = sorted(journal.rows, key=lambda row: order.index(row["case"]))
    text = "\n".join(page(rows)) + "\n"
    print(text)
    if args.out is not None:
        args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
