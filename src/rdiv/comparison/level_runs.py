"""Consecutive levels that lean one way, tested together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from rdiv.comparison.questions import Answer
from rdiv.comparison.verdicts import Direction
from rdiv.errors import InputError
from rdiv.inference.engine import PermutationSettings
from rdiv.inference.intervals import Interval
from rdiv.inference.level_runs import best_run
from rdiv.inference.widened import loss_shape, widened_interval
from rdiv.results import plain
from rdiv.samples.datasets import DatasetRows
from rdiv.samples.frames import as_frame, is_frame, stack
from rdiv.samples.sample import as_sample

__all__ = ["FEWEST_LEVELS", "LevelRun", "joined", "judge_runs", "why_no_runs"]

FEWEST_LEVELS = 3
"""With fewer levels no runs of them are tested."""

MOST_LEVELS = 100
MOST_ROWS = 1_000_000


@dataclass(frozen=True)
class LevelRun:
    """Consecutive levels whose mean losses all lie on one side of the reference, as one sample.

    Of all such runs it is the one that is farthest from the reference; the p-value accounts for
    that choice.

    Parameters
    ----------
    levels : tuple of str
        Names of the levels.
    rows : int
        Rows of these levels.
    gap : float
        Mean loss of their rows minus that of the reference, of the model that the verdicts are
        about.
    interval : Interval, optional
        Confidence interval of the gap; it holds together with those of all levels. None for
        in-sample losses.
    pvalue : float
        Exact when no level differs, whatever the run that was chosen.
    adjusted_pvalue : float
        Adjusted for all levels too.
    alpha : float
        Level of all comparisons together.
    """

    levels: tuple[str, ...]
    rows: int
    gap: float
    interval: Interval | None
    pvalue: float
    adjusted_pvalue: float
    alpha: float

    @property
    def shown(self) -> bool:
        """Whether the mean loss on these levels together was shown to differ."""
        return self.adjusted_pvalue <= self.alpha

    @property
    def direction(self) -> Direction | None:
        """Whether the mean loss got worse or better, where that was shown."""
        return ("worse" if self.gap > 0 else "better") if self.shown else None

    def name(self) -> str:
        """The run by its first and last level."""
        return f"{self.levels[0]} to {self.levels[-1]}"

    def line(self) -> str:
        """The finding in one line."""
        span = ""
        if self.interval is not None:
            span = f" ({self.interval.low:+.3g} to {self.interval.high:+.3g})"
        shown = str(self.direction) if self.shown else "not shown"
        side = "above" if self.gap > 0 else "below"
        return (
            f"{self.name()} all lie {side} the reference; as one sample: {shown}, gap "
            f"{self.gap:+.3g}{span}, p = {self.adjusted_pvalue:.3g}, {self.rows} rows"
        )

    def fields(self) -> dict[str, Any]:
        """All fields, for JSON."""
        span = None if self.interval is None else self.interval._asdict()
        document: dict[str, Any] = plain(
            {
                "levels": list(self.levels),
                "rows": self.rows,
                "gap": self.gap,
                "interval": span,
                "pvalue": self.pvalue,
                "adjusted_pvalue": self.adjusted_pvalue,
                "shown": self.shown,
                "direction": self.direction,
            }
        )
        return document


def why_no_runs(
    samples: Mapping[str, Any], *, groups: str | None, strata: str | None
) -> str | None:
    """Why runs of these levels cannot be tested; None where they can. It looks at no loss."""
    if len(samples) < FEWEST_LEVELS:
        return f"fewer than {FEWEST_LEVELS} levels"
    if len(samples) > MOST_LEVELS:
        return f"more than {MOST_LEVELS} levels"
    if strata is not None:
        return "strata"
    known = [as_sample(sample, name, missing=True).x for name, sample in samples.items()]
    if any(isinstance(x, DatasetRows) for x in known):
        return "datasets that cannot be joined"
    if sum(len(x) for x in known) > MOST_ROWS:
        return f"more than {MOST_ROWS} rows"
    if groups is not None and _share_groups(list(samples.values()), groups):
        return "groups with rows in several levels"
    return None


def _share_groups(samples: Sequence[Any], groups: str) -> bool:
    frames = [as_frame(sample) for sample in samples if is_frame(sample)]
    named = [set(frame[groups].to_list()) for frame in frames if groups in frame.columns]
    return sum(map(len, named)) > len(set().union(*named))


def joined(samples: Sequence[Any]) -> Any:
    """Samples as one, in their order.

    Examples
    --------
    >>> print(joined([np.zeros((2, 3)), np.ones((4, 3))]).shape)
    (6, 3)
    """
    known = [as_sample(sample, "current", missing=True) for sample in samples]
    if isinstance(known[0].x, np.ndarray):
        x: Any = np.concatenate([one.x for one in known])
    else:
        x = reduce(stack, [one.x for one in known]).to_native()
    targets = [one.y for one in known if one.y is not None]
    if 0 < len(targets) < len(known):
        raise InputError("some samples have a target and others none.")
    return (x, np.concatenate(targets)) if targets else x


def judge_runs(
    answer: Answer, sizes: Mapping[str, int], settings: PermutationSettings
) -> LevelRun | None:
    """Test the runs of levels; `answer` compares all of their rows, in order, with the reference.

    The p-value is not adjusted for the levels yet.
    """
    ends = np.cumsum(list(sizes.values()))
    samples, pool = answer.samples, answer.samples.pool
    level = np.searchsorted(ends, samples.places, side="right") + 1
    level[samples.is_p] = 0
    found = best_run(
        answer.losses, level, settings, rng=samples.stream("masks"), groups=pool.groups
    )
    if found is None:
        return None
    own = (level == 0) | ((level > found.first) & (level <= found.last + 1))
    groups = None if pool.groups is None else pool.groups[own]
    shape = loss_shape(answer.losses[own], level[own] == 0, settings.alpha, groups=groups)
    span = widened_interval(found.gap, found.error, found.critical, shape, settings.alpha)
    return LevelRun(
        tuple(sizes)[found.first : found.last + 1], int((level[own] > 0).sum()), found.gap,
        span if answer.held_out else None, found.pvalue, found.pvalue, settings.alpha,
    )  # fmt: skip
