"""The same statements with smaller constants; ``docs/guide/theory.md`` has the proofs.

There are three changes. Two numbers between 0 and D_L differ by at most D_L, not 2 D_L. The largest
gap over all hypotheses is one function of both samples, so one concentration inequality suffices.
Where the expected complexity is known, there is no error from estimating it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rdiv.theory.paper_bounds import (
    check_number,
    check_probability,
    check_setting,
    network_complexity,
)

__all__ = [
    "sharp_conditional_bound",
    "sharp_deviation_bound",
    "sharp_general_bound",
    "sharp_limit_bound",
    "sharp_network_bound",
]


def sharp_general_bound(
    *,
    n: int,
    c: float,
    delta: float,
    l_divergence: float,
    complexity_p: float,
    complexity_q: float,
    expected: bool = False,
) -> float:
    """`general_bound` with smaller constants.

    Parameters
    ----------
    n, c, delta, l_divergence, complexity_p, complexity_q
        As in `general_bound`.
    expected : bool
        Whether the complexities are expectations (or bounds of them), not those of the drawn
        samples.

    Notes
    -----
    ``D_L + 2 R(p) + 2 R(q) + 6 c sqrt(ln(3 / delta) / N)``, and
    ``D_L + 2 E R(p) + 2 E R(q) + 2 c sqrt(ln(2 / delta) / N)`` with expected complexities. It holds
    for any rule that picks a hypothesis, even one that minimises nothing.

    Examples
    --------
    >>> bound = sharp_general_bound(
    ...     n=10_000, c=1.0, delta=0.05, l_divergence=0.02, complexity_p=0.01, complexity_q=0.01
    ... )
    >>> print(round(bound, 3))
    0.181
    """
    complexities = (("complexity_p", complexity_p), ("complexity_q", complexity_q))
    check_setting(n, c, l_divergence, complexities)
    check_probability(delta)
    times, events = (2, 2) if expected else (6, 3)
    spread = times * c * math.sqrt(math.log(events / delta) / n)
    return l_divergence + 2 * (complexity_p + complexity_q) + spread


def sharp_deviation_bound(
    *, n: int, c: float, l_divergence: float, complexity_p: float, complexity_q: float
) -> float:
    """`deviation_bound` with smaller constants, for expected complexities.

    Parameters
    ----------
    n, c, l_divergence
        As in `general_bound`.
    complexity_p, complexity_q : float
        Expectations of the complexities over samples of this size, or bounds of them.

    Notes
    -----
    ``D_L + 2 E R(p) + 2 E R(q) + 2 c sqrt((1 + ln 2) / N)``: the root mean square of a number is at
    most a constant plus the root mean square of what exceeds it.

    Examples
    --------
    >>> bound = sharp_deviation_bound(
    ...     n=10_000, c=1.0, l_divergence=0.0, complexity_p=0.01, complexity_q=0.01
    ... )
    >>> print(round(bound, 3))
    0.066
    """
    complexities = (("complexity_p", complexity_p), ("complexity_q", complexity_q))
    check_setting(n, c, l_divergence, complexities)
    beyond = 2 * c * math.sqrt((1 + math.log(2)) / n)
    return l_divergence + 2 * (complexity_p + complexity_q) + beyond


def sharp_network_bound(
    *,
    n: int,
    c: float,
    delta: float,
    l_divergence: float,
    lipschitz: float,
    radius: float,
    norms: Sequence[float],
    outputs: int = 1,
) -> float:
    """`network_bound` with smaller constants; the parameters are the same.

    Notes
    -----
    ``D_L + 4 L B (sqrt(2 D ln 2) + 1) prod(M_i) / sqrt(N) + 2 c sqrt(ln(2 / delta) / N)``: the
    norms bound the complexity of any sample, hence its expectation.

    Examples
    --------
    >>> bound = sharp_network_bound(
    ...     n=10**6, c=1, delta=0.05, l_divergence=0, lipschitz=1, radius=1, norms=[1, 2]
    ... )
    >>> print(round(bound, 4))
    0.0252
    """
    check_setting(n, c, l_divergence)
    check_probability(delta)
    complexity = network_complexity(
        n=n, lipschitz=lipschitz, radius=radius, norms=norms, outputs=outputs
    )
    return l_divergence + 4 * complexity + 2 * c * math.sqrt(math.log(2 / delta) / n)


def sharp_conditional_bound(
    *,
    n: int,
    c: float,
    delta: float,
    lipschitz: float,
    radius: float,
    norms: Sequence[float],
    outputs: int = 1,
) -> float:
    """`conditional_bound` with smaller constants; parameters and condition are the same.

    Notes
    -----
    ``(4 + sqrt 2) L B (sqrt(2 D ln 2) + 1) prod(M_i) / sqrt(N) + 4 c sqrt(ln(4 / delta) / N)``.

    Examples
    --------
    >>> bound = sharp_conditional_bound(
    ...     n=10**6, c=1, delta=0.05, lipschitz=1, radius=1, norms=[1, 2]
    ... )
    >>> print(round(bound, 4))
    0.0372
    """
    check_setting(n, c)
    check_probability(delta)
    complexity = network_complexity(
        n=n, lipschitz=lipschitz, radius=radius, norms=norms, outputs=outputs
    )
    return (4 + math.sqrt(2)) * complexity + 4 * c * math.sqrt(math.log(4 / delta) / n)


def sharp_limit_bound(*, l_divergence: float) -> float:
    """Upper bound of the limit of the estimate as the samples grow: the L-divergence.

    Parameters
    ----------
    l_divergence : float

    Notes
    -----
    The estimate is the gap of one hypothesis, up to a term that vanishes with n.

    Examples
    --------
    >>> print(sharp_limit_bound(l_divergence=0.3))
    0.3
    """
    check_number("l_divergence", l_divergence)
    return float(l_divergence)
