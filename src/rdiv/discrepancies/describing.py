"""What every discrepancy sees, costs and needs, in one table."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Description", "describe"]


@dataclass(frozen=True)
class Description:
    """One discrepancy in words.

    Parameters
    ----------
    name : str
        Its name in ``BY_NAME``.
    cls : str
        Its class in ``rdiv.discrepancies``.
    compares : str
        What its statistic compares.
    model : str
        What it takes for ``model=``, or "none".
    learns : str
        How it learns from labels; "no" when it is blind to them and tests all rows.
    cost : str
        What grows with the data.
    sees : str
        The differences that it finds.
    citation : str
    """

    name: str
    cls: str
    compares: str
    model: str
    learns: str
    cost: str
    sees: str
    citation: str


_PAPER = "Zhao et al. 2023"
_TABLE = (
    Description(
        "r-div", "RDivergence",
        "mean losses of one model fitted on the pool",
        "any", "no", "one fit",
        "what changes the model's average loss",
        _PAPER,
    ),
    Description(
        "h-div", "HDivergence",
        "risk of the pooled model against models of their own",
        "any", "no", "`kde`: one kernel matrix; others: two refits a permutation, stopped early",
        "where separate training would help",
        "Zhao et al. 2022",
    ),
    Description(
        "l-div", "LDivergence",
        "the largest gap of a bounded loss over a set of hypotheses",
        "torch module", "on one half; a finite list of hypotheses: no",
        "training a small network; a list: one evaluation each",
        "a gap that some hypothesis has, whether it fits the data or not",
        "Ben-David et al. 2010; " + _PAPER,
    ),
    Description(
        "cross-risk", "CrossRisk",
        "each sample judged by the model of the other",
        "any", "no", "as `h-div`",
        "as `h-div`, and more of a change in scale",
        "the scripts published with " + _PAPER,
    ),
    Description(
        "score", "Score",
        "mean gradients of one model fitted on the pool",
        "any with gradients", "no", "one fit and the gradients of every row",
        "directions in which the samples would train different models",
        "Rao 1948; this project",
    ),
    Description(
        "omnibus", "Omnibus",
        "r-div and score of one model, or any members, by their smallest p-value",
        "any with gradients", "no, unless a member does", "one fit; its members' costs",
        "what any member sees, at a small price",
        "Tippett 1931; this project",
    ),
    Description(
        "me", "MeanEmbedding",
        "mean kernel values at a few locations, by Hotelling's statistic",
        "none", "locations and width, on one half; `optimize=False`: no",
        "an ascent over few parameters; then linear in rows",
        "local differences",
        "Chwialkowski et al. 2015; Jitkrittum et al. 2016",
    ),
    Description(
        "scf", "SmoothCharacteristicFunction",
        "smoothed characteristic functions at a few frequencies, by Hotelling's statistic",
        "none", "frequencies and window, on one half; `optimize=False`: no",
        "an ascent over few parameters; then linear in rows",
        "differences that repeat over the data",
        "Chwialkowski et al. 2015; Jitkrittum et al. 2016",
    ),
    Description(
        "c2st-s", "AccuracyC2st",
        "accuracy of a classifier of p against q on unseen rows",
        "classifier", "the classifier, on one half", "one training",
        "what the classifier can tell apart; ties make it conservative",
        "Lopez-Paz and Oquab 2017",
    ),
    Description(
        "c2st-l", "LogitC2st",
        "mean log odds of a classifier of p against q on unseen rows",
        "classifier", "the classifier, on one half", "one training",
        "what the classifier can tell apart, also when it is unsure of every row",
        "Cheng and Cloninger 2022",
    ),
    Description(
        "mmd-o", "GaussianMmd",
        "means of one Gaussian kernel",
        "none", "no; `bandwidth=\"power\"`: the bandwidth, on one half", "all pairs of rows",
        "differences at the scale of the bandwidth",
        "Gretton et al. 2012",
    ),
    Description(
        "mmd-d", "DeepMmd",
        "means of a kernel on the features of a network",
        "torch module", "the kernel, on one half",
        "training a small network; all pairs of held-out rows",
        "differences in shape that one bandwidth misses",
        "Liu et al. 2020",
    ),
    Description(
        "energy", "Energy",
        "distances between rows, within and across samples",
        "none", "no", "all pairs of rows",
        "any difference in the inputs, given enough rows",
        "Szekely and Rizzo 2004",
    ),
    Description(
        "ks-loss", "LossDistribution",
        "the whole distribution of losses under the pooled fit",
        "any", "no", "one fit and a sort",
        "losses that moved while their mean did not",
        "Kolmogorov 1933; Smirnov 1948",
    ),
)  # fmt: skip


def describe() -> tuple[Description, ...]:
    """What each discrepancy compares, takes, learns, costs and sees, with its citation.

    Examples
    --------
    >>> for test in describe()[:2]:
    ...     print(f"{test.name}: {test.sees}")
    r-div: what changes the model's average loss
    h-div: where separate training would help
    """
    return _TABLE
