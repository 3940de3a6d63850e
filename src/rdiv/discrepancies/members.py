"""Several prepared tests of one pool side by side, as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.combining import Combine, min_p, nested
from rdiv.inference.prepared import Masks, Observed, Prepared

__all__ = ["combined"]


def combined(members: Mapping[str, Prepared], together: Combine = min_p) -> Prepared:
    """Several prepared tests of one pool as one: their columns side by side, then `together`.

    Numbers per row (losses, gradients) and the gap are those of the first member that has them.

    Examples
    --------
    >>> from rdiv.inference.mean_gaps import mean_gap
    >>> low, high = mean_gap(np.array([0.0, 1.0, 5.0])), mean_gap(np.array([2.0, 2.0, 3.0]))
    >>> both = combined({"low": low, "high": high})
    >>> print(both.statistic(np.array([[True, True, False]])).shape, both.parts)
    (1, 2) ('low', 'high')
    """
    tests = list(members.values())
    if len(tests) == 1:
        return tests[0]

    def statistic(masks: Masks) -> NDArray[np.float64]:
        columns = [test.statistic(masks).reshape(len(masks), -1) for test in tests]
        return np.concatenate(columns, axis=1)

    def first(name: str) -> Any:
        return next((v for test in tests if (v := getattr(test, name)) is not None), None)

    def observed(is_p: NDArray[np.bool_]) -> Observed:
        found = [test.observe(is_p) for test in tests]
        names = ("risk_p", "risk_q", "gap", "error")
        known = {
            name: next((v for one in found if (v := getattr(one, name)) is not None), None)
            for name in names
        }
        return Observed(**known)

    all_sums = all(test.sums for test in tests)
    return Prepared(
        statistic,
        combine=nested([(test.columns, test.combine) for test in tests], together),
        parts=_parts(members),
        observed=observed,
        sums=tuple(one for test in tests for one in test.sums) if all_sums else (),
        losses=first("losses"),
        gradients=first("gradients"),
        gradient_owners=first("gradient_owners"),
        notes={key: value for test in reversed(tests) for key, value in test.notes.items()},
    )


def _parts(members: Mapping[str, Prepared]) -> tuple[str, ...]:
    """Names of the columns of some tests side by side."""
    parts = {name: test.parts or ("",) for name, test in members.items()}
    return tuple(f"{name} {part}".strip() for name, own in parts.items() for part in own)
