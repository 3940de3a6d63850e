"""The bounds of the R-divergence paper (Zhao and Cao 2023, section 4), as printed.

``docs/guide/theory.md`` derives them again and says which hold as printed. `rdiv.theory.sharper`
has the same statements with smaller constants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real

import numpy as np

from rdiv.errors import InputError

__all__ = [
    "check_norms",
    "check_number",
    "check_probability",
    "check_setting",
    "check_size",
    "conditional_bound",
    "deviation_bound",
    "general_bound",
    "limit_bound",
    "network_bound",
    "network_complexity",
]


def check_size(n: int) -> None:
    """Rows of a sample: a whole number of at least 1.

    Examples
    --------
    >>> check_size(0)
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: n must be a whole number of at least 1, got 0; it is ...
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InputError(
            f"n must be a whole number of at least 1, got {n!r}; it is the rows of one sample."
        )


def check_probability(delta: float) -> None:
    """The probability with which a bound may fail."""
    if isinstance(delta, bool) or not isinstance(delta, Real) or not 0 < float(delta) < 1:
        raise InputError(
            f"delta must lie strictly between 0 and 1, got {delta!r}; it is the probability with "
            "which the bound may fail."
        )


def check_number(name: str, value: float, *, most: float = math.inf, why: str = "") -> None:
    """A finite number of at least 0 and at most ``most``."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not 0 <= float(value) < math.inf:
        raise InputError(f"{name} must be a finite number of at least 0, got {value!r}.")
    if float(value) > most * (1 + 1e-12):
        raise InputError(f"{name} must be at most {most:g}, got {value:g}; {why}.")


def check_setting(
    n: int, c: float, l_divergence: float = 0.0, complexities: Sequence[tuple[str, float]] = ()
) -> None:
    """Check the rows, the bound of the loss, and the numbers that this bound limits."""
    check_size(n)
    check_number("c", c)
    if c == 0:
        raise InputError("c must be larger than 0, got 0; it bounds the absolute loss of any row.")
    check_number(
        "l_divergence", l_divergence, most=2 * c, why="risks between -c and c differ by 2 c at most"
    )
    for name, value in complexities:
        check_number(name, value, most=c, why="losses between -c and c have no larger complexity")


def check_norms(norms: Sequence[float]) -> None:
    """Check the Frobenius norms, one per layer."""
    if isinstance(norms, str | bytes) or not np.iterable(norms) or len(norms) == 0:
        raise InputError(f"norms must hold one Frobenius norm per layer, got {norms!r}.")
    for norm in norms:
        check_number("each of norms", norm)


def general_bound(
    *,
    n: int,
    c: float,
    delta: float,
    l_divergence: float,
    complexity_p: float,
    complexity_q: float,
) -> float:
    """How far the estimate may lie from the R-divergence, with probability ``1 - delta``.

    Parameters
    ----------
    n : int
        Rows of each sample.
    c : float
        Upper bound of the absolute loss per row, under any hypothesis.
    delta : float
        Probability with which the bound may fail.
    l_divergence : float
        Largest gap between the two risks over all hypotheses.
    complexity_p, complexity_q : float
        Rademacher complexities of the losses on the two samples; see `rademacher_complexity`.

    Notes
    -----
    Theorem 4.1: ``2 D_L + 2 R(p) + 2 R(q) + 12 c sqrt(ln(8 / delta) / N)``. It holds as printed.
    The estimate and the divergence both lie in [0, 2 c], so a bound of 2 c or more is vacuous.

    Examples
    --------
    >>> bound = general_bound(
    ...     n=10_000, c=1.0, delta=0.05, l_divergence=0.02, complexity_p=0.01, complexity_q=0.01
    ... )
    >>> print(round(bound, 3))
    0.35
    """
    complexities = (("complexity_p", complexity_p), ("complexity_q", complexity_q))
    check_setting(n, c, l_divergence, complexities)
    check_probability(delta)
    spread = 12 * c * math.sqrt(math.log(8 / delta) / n)
    return 2 * (l_divergence + complexity_p + complexity_q) + spread


def deviation_bound(
    *, n: int, c: float, l_divergence: float, complexity_p: float, complexity_q: float
) -> float:
    """Bound on the standard deviation of the estimate.

    Parameters are those of `general_bound`.

    Notes
    -----
    The corollary of Theorem 4.1 on the variance:
    ``34 c / sqrt(N) + sqrt(2 pi) (2 D_L + 2 R(p) + 2 R(q))``. The paper prints it with the
    complexities of the drawn samples, which are random while a standard deviation is not; in this
    form it can fail. It holds with *expected* complexities, or their root mean squares.

    Examples
    --------
    >>> bound = deviation_bound(
    ...     n=10_000, c=1.0, l_divergence=0.0, complexity_p=0.01, complexity_q=0.01
    ... )
    >>> print(round(bound, 3))
    0.44
    """
    complexities = (("complexity_p", complexity_p), ("complexity_q", complexity_q))
    check_setting(n, c, l_divergence, complexities)
    fixed = 2 * (l_divergence + complexity_p + complexity_q)
    return 34 * c / math.sqrt(n) + math.sqrt(2 * math.pi) * fixed


def network_complexity(
    *, n: int, lipschitz: float, radius: float, norms: Sequence[float], outputs: int = 1
) -> float:
    """Bound on the Rademacher complexity of a loss on networks with given weight norms.

    Parameters
    ----------
    n : int
        Rows.
    lipschitz : float
        Lipschitz constant of the loss in the network's output.
    radius : float
        Largest Euclidean norm of an input.
    norms : sequence of float
        Bound of the Frobenius norm of each weight matrix; see `frobenius_norms`.
    outputs : int
        Outputs of the network. The paper's statement is for 1 output; more outputs add a factor
        ``sqrt(2) * outputs`` (Maurer 2016, with each output bounded as a separate network).

    Notes
    -----
    ``L B (sqrt(2 D ln 2) + 1) prod(M_i) / sqrt(N)`` for depth D and activations that are
    1-Lipschitz, positive-homogeneous and applied element by element (Golowich, Rakhlin and Shamir
    2018, Theorem 1), after Talagrand's contraction.

    Examples
    --------
    >>> print(round(network_complexity(n=10_000, lipschitz=1, radius=1, norms=[1, 2]), 4))
    0.0533
    """
    check_setting(n, 1.0)
    check_norms(norms)
    check_number("lipschitz", lipschitz)
    check_number("radius", radius)
    if isinstance(outputs, bool) or not isinstance(outputs, int) or outputs < 1:
        raise InputError(f"outputs must be a whole number of at least 1, got {outputs!r}.")
    depth = math.sqrt(2 * len(norms) * math.log(2)) + 1
    several = 1.0 if outputs == 1 else math.sqrt(2) * outputs
    return several * lipschitz * radius * depth * math.prod(norms) / math.sqrt(n)


def network_bound(
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
    """`general_bound` for networks whose weight matrices have bounded Frobenius norms.

    Parameters
    ----------
    n, c, delta, l_divergence
        As in `general_bound`.
    lipschitz, radius, norms, outputs
        As in `network_complexity`.

    Notes
    -----
    Proposition 4.3: ``2 D_L + 4 L B (sqrt(2 D ln 2) + 1) prod(M_i) / sqrt(N) + 12 c sqrt(ln(8 /
    delta) / N)``. It holds as printed, for networks with one output and no biases;
    `frobenius_norms` folds biases into the matrices.

    Examples
    --------
    >>> bound = network_bound(
    ...     n=10**6, c=1, delta=0.05, l_divergence=0, lipschitz=1, radius=1, norms=[1, 2]
    ... )
    >>> print(round(bound, 4))
    0.0484
    """
    check_setting(n, c, l_divergence)
    check_probability(delta)
    complexity = network_complexity(
        n=n, lipschitz=lipschitz, radius=radius, norms=norms, outputs=outputs
    )
    return 2 * l_divergence + 4 * complexity + 12 * c * math.sqrt(math.log(8 / delta) / n)


def conditional_bound(
    *,
    n: int,
    c: float,
    delta: float,
    lipschitz: float,
    radius: float,
    norms: Sequence[float],
    outputs: int = 1,
) -> float:
    """`network_bound` without the L-divergence, where that is smaller than the excess risk.

    The condition, ``D_L <= abs(risk_u(h*) - risk_u(h_hat))``, is about risks in the population. It
    cannot be checked from data. As the excess risk vanishes with n, it holds only for distributions
    that no hypothesis distinguishes at this n. The estimate must come from an exact empirical
    minimiser.

    Parameters
    ----------
    n, c, delta
        As in `general_bound`.
    lipschitz, radius, norms, outputs
        As in `network_complexity`.

    Notes
    -----
    Corollary 4.4: ``8 L B (sqrt(2 D ln 2) + 1) prod(M_i) / sqrt(N) + 22 c sqrt(ln(16 / delta) /
    N)``. It holds under its condition; the first two lines of its proof are misprinted.

    Examples
    --------
    >>> bound = conditional_bound(n=10**6, c=1, delta=0.05, lipschitz=1, radius=1, norms=[1, 2])
    >>> print(round(bound, 4))
    0.0955
    """
    check_setting(n, c)
    check_probability(delta)
    complexity = network_complexity(
        n=n, lipschitz=lipschitz, radius=radius, norms=norms, outputs=outputs
    )
    return 8 * complexity + 22 * c * math.sqrt(math.log(16 / delta) / n)


def limit_bound(*, l_divergence: float, r_divergence: float) -> float:
    """Upper bound of the limit of the estimate as the samples grow.

    Parameters
    ----------
    l_divergence, r_divergence : float
        Divergences of the distributions; the second is at most the first.

    Notes
    -----
    Corollary 4.5: ``2 D_L + D_R``. It holds, and is loose: the limit is at most ``D_L``. It is an
    upper bound, not the value that the estimate converges to.

    Examples
    --------
    >>> print(limit_bound(l_divergence=0.3, r_divergence=0.1))
    0.7
    """
    check_number("l_divergence", l_divergence)
    check_number(
        "r_divergence",
        r_divergence,
        most=l_divergence,
        why="the R-divergence is the gap of one hypothesis, the L-divergence the largest of all",
    )
    return 2 * l_divergence + r_divergence
