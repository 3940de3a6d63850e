"""False alarms and power of slices and weights, and what a mistake would cost; a page of the docs.

    python benchmarks/calibration/drivers.py --out docs/measured/calibration_drivers.md

A false alarm is a confirmed slice, or a confirmed weight of a column, whose null is true. Broken
variants, the same procedures with one mistake, must be caught by the same count.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.counting import Counts, alarm_rate, write_page

from rdiv.discrepancies import RDivergence, Score
from rdiv.drivers import Drivers
from rdiv.drivers import slices as slice_stage
from rdiv.drivers import weights as weight_stage
from rdiv.drivers.find import find_drivers, rows_to_search
from rdiv.inference.engine import PermutationSettings
from rdiv.models import CrossFit, Frozen, Model, Ridge
from rdiv.models.corrections import correction_owners, linear_correction
from rdiv.parallel.threads import one_thread
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import pool_samples

ALPHA = 0.05
RESAMPLES = 199
WEIGHTS = np.array([1.0, 0.5, 0.0, 0.0, 0.0])
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Deployed:
    """A linear model with fixed weights and squared error."""

    def losses(self, pool: Pool) -> Floats:
        """Squared residuals."""
        return self._off(pool) ** 2

    def gradients(self, pool: Pool) -> Floats:
        """Residuals times inputs."""
        return linear_correction(2 * self._off(pool)[:, None], pool)

    def gradient_owners(self, pool: Pool) -> tuple[str | None, ...]:
        """An offset, then one input a column."""
        return correction_owners(pool)

    def _off(self, pool: Pool) -> Floats:
        assert pool.y is not None
        off: Floats = pool.matrix()[:, :5] @ WEIGHTS - pool.y
        return off


DEPLOYED = Frozen(Deployed(), trained_on="neither")
CROSS_FITTED = CrossFit(Ridge(), 2)


# --- draws: inputs and targets of both samples, and which findings are true ----------------------

Draw = Callable[[int, int, np.random.Generator], dict[str, Any]]


def _rows(n: int, rng: np.random.Generator, shift: float = 0.0, matters: bool = False) -> Any:
    """Five columns; noise is heavier for positive column 3, the last is shifted."""
    x = rng.normal(size=(n, 5))
    x[:, 4] += shift
    spread = np.where(x[:, 3] > 0, 1.5, 1.0)
    if matters:
        spread = spread * np.where(x[:, 4] > 0.5, 1.5, 1.0)
    return x, x @ WEIGHTS + spread * rng.normal(size=n)


def same(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """One distribution."""
    return {"p": _rows(n_p, rng), "q": _rows(n_q, rng)}


def moved(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """Column 4 moves by one standard deviation and does not matter to the loss."""
    return {"p": _rows(n_p, rng), "q": _rows(n_q, rng, shift=1.0)}


def moved_and_matters(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """Column 4 moves and the loss depends on it; every finding without it is false."""
    drawn = {"p": _rows(n_p, rng, matters=True), "q": _rows(n_q, rng, shift=0.5, matters=True)}
    return {**drawn, "true": {"column 4"}}


def noisier(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """Current is noisier everywhere, by the same amount: a gap that is concentrated nowhere."""
    x, y = _rows(n_q, rng)
    return {"p": _rows(n_p, rng), "q": (x, y + rng.normal(size=n_q))}


def table(n: int, rng: np.random.Generator) -> tuple[pl.DataFrame, Floats]:
    """A table with ages and regions; the target depends on income."""
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, size=n),
            "income": np.exp(rng.normal(10, 0.5, size=n)),
            "region": rng.choice(["north", "south", "east", "west"], size=n),
        }
    )
    return frame, np.log(frame["income"].to_numpy()) + rng.normal(size=n)


def planted_slice(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """The loss doubles in the tenth of current where column 2 is largest."""
    x, y = _rows(n_q, rng)
    inside = x[:, 2] > 1.2816
    y = np.where(inside, x @ WEIGHTS + 2**0.5 * (y - x @ WEIGHTS), y)
    return {"p": _rows(n_p, rng), "q": (x, y), "slice": inside}


def planted_corner(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """The loss doubles for the elderly of one region, a tenth of current; ridge, cross-fitted."""
    (frame_p, y_p), (frame_q, y_q) = table(n_p, rng), table(n_q, rng)
    inside = (frame_q["age"].to_numpy() >= 61) & (frame_q["region"] == "west").to_numpy()
    centre = np.log(frame_q["income"].to_numpy())
    y_q = np.where(inside, centre + 2**0.5 * (y_q - centre), y_q)
    return {"p": (frame_p, y_p), "q": (frame_q, y_q), "slice": inside, "model": CROSS_FITTED}


def planted_noise(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """A worn sensor: column 1 has noise added in current, half its spread."""
    x, y = _rows(n_q, rng)
    x[:, 1] += 0.5 * rng.normal(size=n_q)
    return {"p": _rows(n_p, rng), "q": (x, y), "column": "column 1"}


NULLS: tuple[tuple[str, Draw, tuple[int, int]], ...] = (
    ("one distribution", same, (400, 400)),
    ("one distribution", same, (200, 800)),
    ("one column moved, loss unmoved", moved, (400, 400)),
    ("one column moved, loss unmoved", moved, (200, 800)),
    ("one column moved, loss with it", moved_and_matters, (200, 800)),
    ("noisier everywhere", noisier, (200, 800)),
)
PLANTED: tuple[tuple[str, Draw], ...] = (
    ("slice: one condition, array", planted_slice),
    ("slice: two conditions, table", planted_corner),
    ("weight: noise added", planted_noise),
)
BROKEN = ("slices tested on the rows that found them", "weights without adjustment")


# --- running --------------------------------------------------------------------------------------


def run(given: dict[str, Any], seed: int, resamples: int = RESAMPLES) -> Drivers:
    """The drivers of one draw, without the tests that compare would run beside them."""
    model: Model = given.get("model", DEPLOYED)
    with one_thread():
        pooled = pool_samples(given["p"], given["q"], task="regression", rng=seed)
        fitted = model.fit(pooled.pool, pooled.stream("fit"))
        losses = RDivergence(model).from_fit(fitted, pooled.pool).losses
        assert losses is not None
        return find_drivers(
            losses,
            pooled,
            PermutationSettings(ALPHA, resamples),
            held_out=True,
            searched=rows_to_search(pooled, Score(model).from_fit(fitted, pooled.pool)),
        )


def false_alarms(given: dict[str, Any], found: Drivers) -> dict[str, bool]:
    """Whether any confirmed slice, and any confirmed weight, is one that should not be there."""
    true = given.get("true", set())
    slices = [s for s in found.confirmed_slices() if not any(t in s.condition for t in true)]
    weights = [c for c in found.confirmed_weights() if c.name not in true]
    return {"slices": bool(slices), "weights": bool(weights)}


def recovered(given: dict[str, Any], found: Drivers) -> bool:
    """Whether the planted column, or a slice that is mostly the planted one, was confirmed."""
    if "column" in given:
        return given["column"] in {c.name for c in found.confirmed_weights()}
    planted = given["slice"]
    return any(_overlap(s.clauses, given["q"][0], planted) >= 0.5 for s in found.confirmed_slices())


def _overlap(clauses: tuple[str, ...], x: Any, planted: NDArray[np.bool_]) -> float:
    """Rows in both over rows in either, of what the clauses say and what was planted."""
    inside = np.ones(len(planted), dtype=bool)
    for clause in clauses:
        inside &= _holds(clause, x)
    return float((inside & planted).sum() / max((inside | planted).sum(), 1))


def _holds(clause: str, x: Any) -> NDArray[np.bool_]:
    """Read a clause as a person would."""
    words = clause.split(" ")
    if words.count("<=") == 1:
        return _holds(f"{' '.join(words[2:-2])} >= {words[0]}", x) & _holds(" ".join(words[2:]), x)
    name, sign, value = " ".join(words[:-2]), words[-2], words[-1]
    column = x[name].to_numpy() if isinstance(x, pl.DataFrame) else x[:, int(name.split()[-1])]
    if sign == "=":
        return np.asarray(column.astype(str) == value)
    return np.asarray(column >= float(value) if sign == ">=" else column < float(value))


def broken(which: str) -> Any:
    """The same procedure with a mistake."""
    if which == BROKEN[0]:
        everything = lambda pool, is_p, rng: (np.arange(len(pool)), np.arange(len(pool)))  # noqa: E731
        return mock.patch.object(slice_stage, "halves_of", everything)

    def each(parts: Floats) -> Floats:
        return np.asarray((parts >= parts[0]).mean(axis=0))

    return mock.patch.object(weight_stage, "step_down", each)


# --- counting -------------------------------------------------------------------------------------


def alarms(cell: dict[str, Any], draws: range) -> dict[str, Any]:
    """False alarms of slices and weights in some draws of a null, or of a broken variant."""
    mistake = cell.get("mistake")
    draw, sizes = NULLS[cell["null"]][1:]
    hits = {"slices": 0, "weights": 0}
    with nullcontext() if mistake is None else broken(mistake):
        for i in draws:
            given = draw(*sizes, np.random.default_rng([80, i]))
            for what, alarm in false_alarms(given, run(given, i)).items():
                hits[what] += alarm
    return hits


def recoveries(cell: dict[str, Any], draws: range) -> dict[str, Any]:
    """In how many draws what was planted is found."""
    draw, hits = dict(PLANTED)[cell["planted"]], 0
    for i in draws:
        given = draw(5000, 5000, np.random.default_rng([81, i]))
        hits += recovered(given, run(given, i))
    return {"found": hits}


# --- the page -------------------------------------------------------------------------------------

DRAWS, POWER = {"null": 1000, "power": 100, "broken": 60}, 0.9
INTRO = f"""\
# Calibration of drivers

<!-- Written by benchmarks/calibration/drivers.py (make calibrate); do not edit. -->

How often any slice, or any weight of a column, is confirmed at level {ALPHA:g} although
its null is true, and how often a planted slice (a tenth of current, its loss doubled) or
a planted weight is found. {RESAMPLES} permutations; squared error of a linear model
with fixed weights, five columns (two conditions: ridge in two folds, a table of three).
A slice counts as found when it is confirmed and shares half of its rows (those in both
over those in either) with the planted one. Each null cell must stay within the upper
99.5 % bound of a binomial count; each planted one be found in 90 % of the draws. Broken
variants must be caught by the same bound. Draw i uses the seed [80, i] or [81, i].
Command:
`python benchmarks/calibration/drivers.py --out docs/measured/calibration_drivers.md`.

| data | rows | what | draws | rate | 95 % interval | verdict |
|---|---|---|---|---|---|---|"""


def page(counts: Counts) -> Iterator[str]:
    """The lines of the page."""
    yield from INTRO.split("\n")
    for place, (name, _, (n_p, n_q)) in enumerate(NULLS):
        key = {"null": place, "name": name}
        found = counts.count(alarms, key, range(counts.of(DRAWS["null"])), 25)
        for what in ("slices", "weights"):
            told = f"{name} | {n_p} + {n_q} | any false alarm, {what}"
            yield f"| {told} | {alarm_rate(found, what, 'null', POWER)} |"
    for name, _ in PLANTED:
        found = counts.count(recoveries, {"planted": name}, range(counts.of(DRAWS["power"])), 5)
        yield f"| {name} | 5000 + 5000 | found | {alarm_rate(found, 'found', 'power', POWER)} |"
    for name in BROKEN:
        key = {"null": 1, "mistake": name}
        found = counts.count(alarms, key, range(counts.of(DRAWS["broken"])), 20)
        what = name.split()[0]
        told = f"*{name}* | 200 + 800 | any false alarm, {what}"
        yield f"| {told} | {alarm_rate(found, what, 'broken', POWER)} |"


def main() -> None:
    """Count, and write the page."""
    write_page(page, __doc__, "calibration_drivers")


if __name__ == "__main__":
    from benchmarks.calibration.drivers import main as start  # where workers find it

    start()
