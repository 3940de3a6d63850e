"""How often a frozen model is warned about: trained on the reference, or on as many other rows.

python benchmarks/calibration/frozen_word.py --out docs/measured/frozen_word.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.counting import NOT_YET, Counts, write_page

import rdiv
from rdiv.models import Frozen

DRAWS, PART, ROWS = 200, 25, (200, 100)
HEAD = """\
# The word of a frozen model

<!-- Written by benchmarks/calibration/frozen_word.py (make calibrate); do not edit. -->

`Frozen(model, trained_on="neither")` rests on the user's word. `rdiv.compare` sets the mean loss of
the model on the reference beside that of a copy that is cross-fitted on the reference, and warns
where it is lower by more than chance. Share of {draws} draws with that warning, {n_p} + {n_q} rows,
no shift; in brackets the 95 % interval. A model trained on ten times as many other rows is better
than the copy too: the warning says so. Command:
`python benchmarks/calibration/frozen_word.py --out docs/measured/frozen_word.md`.

| model | trained on the reference | on as many other rows | on ten times as many |
|---|---|---|---|"""


def models() -> dict[str, Any]:
    """Estimators before their fit."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import Ridge
    from sklearn.neighbors import KNeighborsRegressor

    forest = RandomForestRegressor(20, min_samples_leaf=3, random_state=0)
    return {"ridge": Ridge(), "nearest neighbours": KNeighborsRegressor(5), "forest": forest}


def sample(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """A target that depends on one of four inputs."""
    x = rng.normal(size=(n, 4))
    return x, x[:, 0] + rng.normal(size=n)


def warned(estimator: Any, times: int, seed: int) -> bool:
    """Whether a draw is warned about; 0 times other rows is the reference itself."""
    from sklearn.base import clone

    rng = np.random.default_rng([82, seed])
    reference, current = (sample(n, rng) for n in ROWS)
    trained = sample(times * ROWS[0], rng) if times else reference
    model = Frozen(clone(estimator).fit(*trained), trained_on="neither")
    found = rdiv.compare(
        reference, current, model=model, retrain=None, drivers=False, n_resamples=19, rng=seed
    )
    return any("gives itself away" in text for text in found.warnings)


def warnings(cell: dict[str, Any], draws: range) -> dict[str, Any]:
    """How many draws of a model are warned about."""
    estimator = models()[cell["model"]]
    return {"warned": sum(warned(estimator, cell["times"], seed) for seed in draws)}


def page(counts: Counts) -> Iterator[str]:
    """The lines of the page."""
    yield from HEAD.format(draws=counts.of(DRAWS), n_p=ROWS[0], n_q=ROWS[1]).split("\n")
    for name in models():
        cells = [name]
        for times in (0, 1, 10):
            key = {"model": name, "times": times}
            found = counts.count(warnings, key, range(counts.of(DRAWS)), PART)
            cells.append(NOT_YET)
            if found.draws:
                count = found.total("warned")
                span = binomtest(count, found.draws).proportion_ci(method="wilson")
                told = f"{count / found.draws:.3f} [{span.low:.3f}, {span.high:.3f}]"
                cells[-1] = told if found.complete else f"{told} ({found.shown} draws)"
        yield "| " + " | ".join(cells) + " |"


def main() -> None:
    """Count, and write the page."""
    write_page(page, __doc__, "frozen_word")


if __name__ == "__main__":
    from benchmarks.calibration.frozen_word import main as start  # where workers find it

    start()
