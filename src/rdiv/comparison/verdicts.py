"""From the p-values of the questions to one verdict: closed testing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rdiv.results import TwoSampleResult

__all__ = ["RISK_SHIFTS", "VERDICTS", "Direction", "Verdict", "closed_testing", "verdict_of"]

Verdict = Literal[
    "risk shift",
    "expected risk shift",
    "hidden shift",
    "shift, kind not established",
    "no shift",
]
Direction = Literal["worse", "better"]

VERDICTS: tuple[Verdict, ...] = (
    "risk shift",
    "expected risk shift",
    "hidden shift",
    "shift, kind not established",
    "no shift",
)
"""All verdicts, the most serious first."""

RISK_SHIFTS: tuple[Verdict, ...] = ("risk shift", "expected risk shift")
"""Verdicts about the mean loss of the model in use."""

QUESTIONS = ("in-use", "r-div", "score")


def closed_testing(results: Mapping[str, TwoSampleResult]) -> tuple[dict[str, float], float]:
    """P-values that hold for all questions together, and the one of all questions at once.

    Parameters
    ----------
    results : mapping
        Results by question, and ``"omnibus"`` for r-div and score on the same permutations.

    Returns
    -------
    adjusted : dict of float
        By question: the largest p-value over all sets of questions that hold it.
    together : float

    Notes
    -----
    The p-value of r-div and score together is that of omnibus. With the model in use, which is
    judged on other rows, it is twice the smaller one (Bonferroni), so the level holds whatever the
    dependence (Marcus, Peritz and Gabriel 1976).

    Examples
    --------
    >>> from types import SimpleNamespace as Result
    >>> raw = {"in-use": 0.001, "r-div": 0.2, "score": 0.03, "omnibus": 0.05}
    >>> adjusted, together = closed_testing({k: Result(pvalue=p) for k, p in raw.items()})
    >>> print(adjusted, together)
    {'in-use': 0.002, 'r-div': 0.2, 'score': 0.05} 0.002
    """
    raw = {name: result.pvalue for name, result in results.items()}
    asked = tuple(name for name in QUESTIONS if name in raw)
    adjusted = {
        name: max(_intersection(raw, chosen) for chosen in _sets(asked) if name in chosen)
        for name in asked
    }
    return adjusted, _intersection(raw, asked)


def verdict_of(
    adjusted: Mapping[str, float],
    together: float,
    alpha: float,
    leading: str,
    labels: str | None = None,
) -> Verdict:
    """The verdict; `leading` is the question that a risk shift is about.

    Where no current row has a label (`labels` is ``"none"``), a risk shift is an expected one.

    Examples
    --------
    >>> print(verdict_of({"in-use": 0.2, "score": 0.04}, 0.03, 0.05, "in-use"))
    hidden shift
    """
    if adjusted[leading] <= alpha:
        return "expected risk shift" if labels == "none" else "risk shift"
    if min(adjusted.values()) <= alpha:
        return "hidden shift"
    return "shift, kind not established" if together <= alpha else "no shift"


def _sets(names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    return (chosen for k in range(1, len(names) + 1) for chosen in combinations(names, k))


def _intersection(raw: Mapping[str, float], chosen: tuple[str, ...]) -> float:
    shared = [name for name in chosen if name != "in-use"]
    if not shared:
        return raw["in-use"]
    pvalue = raw["omnibus"] if len(shared) > 1 else raw[shared[0]]
    return min(1.0, 2 * min(raw["in-use"], pvalue)) if "in-use" in chosen else pvalue
