"""The widened interval by slow code: Hall's transformation is inverted by a root finder."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.stats import t as student


def hall(ratio: float, skewness: float) -> float:
    """The transformation itself, as in Hall (1992)."""
    return ratio + skewness * ratio**2 / 3 + skewness**2 * ratio**3 / 27 + skewness / 6


def ends(
    value: float, error: float, freedom: float, skewness: float, alpha: float
) -> tuple[float, float]:
    """Student's ends; each is moved out where Hall's are farther, up to 2.5 times as far."""
    half = student.ppf(1 - alpha / 2, freedom)
    moved = [brentq(lambda r, at=at: hall(r, skewness) - at, -500, 500) for at in (half, -half)]
    low = max(half, min(moved[0], 2.5 * half))
    high = max(half, min(-moved[1], 2.5 * half))
    return value - low * error, value + high * error


def slow_mean(
    numbers: np.ndarray, alpha: float = 0.05, inflation: float = 1.0
) -> tuple[float, float, float]:
    """Mean, low and high; the variance of the mean is so many times that of independent numbers."""
    n, off = len(numbers), numbers - numbers.mean()
    skewness = (off**3).sum() / n**3 / (inflation * (off**2).sum() / n**2) ** 1.5
    error = numbers.std(ddof=1) * np.sqrt(inflation / n)
    return (numbers.mean(), *ends(numbers.mean(), error, n - 1, skewness, alpha))


def slow_gap(
    p: np.ndarray, q: np.ndarray, alpha: float, critical: float = 0.0
) -> tuple[float, float]:
    """The interval of mean(q) - mean(p), never narrower than critical times the error."""
    gap = q.mean() - p.mean()
    own = [side.var(ddof=1) / len(side) for side in (p, q)]
    plain = [side.var() / len(side) for side in (p, q)]
    third = [((side - side.mean()) ** 3).sum() / len(side) ** 3 for side in (p, q)]
    freedom = sum(own) ** 2 / sum(
        v**2 / (len(side) - 1) for v, side in zip(own, (p, q), strict=True)
    )
    skewness = (third[1] - third[0]) / sum(plain) ** 1.5
    error = np.sqrt(sum(own))
    low, high = ends(gap, error, freedom, skewness, alpha)
    low, high = min(low, gap - critical * error), max(high, gap + critical * error)
    both = np.concatenate([p, q])
    for side, sign in ((p, -1), (q, 1)):
        if side.var() < 0.01 * both.var():
            share = 1 - (alpha / 2) ** (1 / len(side))
            up, down = share * (both.max() - side.mean()), share * (side.mean() - both.min())
            high = max(high, gap + (up if sign > 0 else down))
            low = min(low, gap - (down if sign > 0 else up))
    return low, high
