"""How often a frozen model is warned about: trained on the reference, or on as many other rows.

python benchmarks/calibration/frozen_word.py --out docs/measured/frozen_word.md
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import rdiv
from rdiv.models import Frozen
from rdiv.parallel.threads import one_thread

DRAWS, ROWS = 200, (200, 100)
HEAD = """\
# The word of a frozen model

<!-- Written by benchmarks/calibration/frozen_word.py; do not edit. -->

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


def page(draws: int) -> Iterator[str]:
    """The lines of the page."""
    yield from HEAD.format(draws=draws, n_p=ROWS[0], n_q=ROWS[1]).split("\n")
    for name, estimator in models().items():
        cells = [name]
        for times in (0, 1, 10):
            count = sum(warned(estimator, times, seed) for seed in range(draws))
            span = binomtest(count, draws).proportion_ci(method="wilson")
            cells.append(f"{count / draws:.3f} [{span.low:.3f}, {span.high:.3f}]")
        yield "| " + " | ".join(cells) + " |"


def main() -> None:
    """Count and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--draws", type=int, default=DRAWS)
    args = parser.parse_args()
    with one_thread():
        text = "\n".join(page(args.draws)) + "\n"
    print(text)
    if args.out is not None:
        args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
