"""Three pairs of samples for the demo, made from real scans of handwritten digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Sample = tuple[NDArray[np.float64], NDArray[np.intp]]

__all__ = ["MARK", "WRONG", "Case", "digit_cases"]

MARK = 4
"""Grey levels (of 16) that the mark in the margin adds."""

WRONG = 0.1
"""Share of the current labels that are typed wrong."""

_SIDE = 8  # a scan has 8 x 8 pixels, stored row by row


@dataclass(frozen=True, eq=False)
class Case:
    """A reference and a current sample, and what was done to the latter.

    Parameters
    ----------
    name, done : str
        In two or three words, and in full.
    lesson : str
        What to look at in the result.
    reference, current : pair (X, y)
    """

    name: str
    done: str
    lesson: str
    reference: Sample
    current: Sample


def digit_cases(seed: int) -> list[Case]:
    """One random halving of scikit-learn's digits, with three versions of the second half.

    Parameters
    ----------
    seed : int
        Fixes the halves, and which labels are typed wrong.

    Examples
    --------
    >>> print([case.name for case in digit_cases(0)])
    ['nothing changed', 'marked margin', 'wrong labels']
    """
    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    x, y = load_digits(return_X_y=True)
    x_p, x_q, y_p, y_q = train_test_split(x, y, test_size=0.5, random_state=seed + 1)
    marked = x_q.copy()
    marked[:, ::_SIDE] += MARK
    mistyped = np.random.default_rng(seed).random(len(y_q)) < WRONG
    reference = x_p, y_p
    return [
        Case(
            "nothing changed",
            "Current is the other half of the same scans.",
            "There is nothing to find. A shift here would be a false alarm, which one seed in "
            "twenty gives at level 0.05. The interval says how large a gap could have hidden.",
            reference,
            (x_q, y_q),
        ),
        Case(
            "marked margin",
            f"A new scanner adds {MARK} of 16 grey levels along the left edge, where hardly any "
            "digit reaches.",
            "The inputs moved, and a monitor of the inputs would raise an alarm. The model has no "
            "use for the margin, so its loss has no reason to move.",
            reference,
            (marked, y_q),
        ),
        Case(
            "wrong labels",
            f"One label in {round(1 / WRONG)} is typed wrong, as the next digit; the scans are "
            "untouched.",
            "The inputs are those of case 1, so no monitor of the inputs can see this. The loss "
            "does: read off how much worse, and how sure that is.",
            reference,
            (x_q, np.where(mistyped, (y_q + 1) % 10, y_q)),
        ),
    ]
