"""Sentences about labels that are absent or few: what is expected, and what that rests on.

As in `rdiv.comparison.sentences`, the terminal, the page and ``str()`` take them from here.
"""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdiv.comparison.result import Comparison
    from rdiv.inference.intervals import Estimate

__all__ = [
    "ASSUMPTION",
    "NO_RELATION",
    "expected_advice",
    "expected_carriers",
    "expected_finding",
    "expected_gap_lines",
    "label_remarks",
    "labelled_lines",
    "no_expected_finding",
    "not_at_random",
    "prediction_words",
    "support_words",
    "too_few_labels",
    "words_of",
]

ASSUMPTION = (
    "this is the gap if the relation between inputs and target is still that of the reference; "
    "without labels nothing can show whether it is"
)
NO_RELATION = (
    "no current row has a label, so a changed relation between inputs and target cannot be seen"
)
_NOTHING_EXPECTED = (
    "Look at the columns that moved: the current rows are where the reference has too few rows to "
    "expect anything. Label some of them, drawn at random."
)
MUCH_OUTSIDE = 0.05
"""From this share of current rows outside what part A covers on, the words warn."""


def too_few_labels(few: int, rows: int) -> str:
    """That so few current rows have labels that these were not used.

    Examples
    --------
    >>> print(too_few_labels(3, 400)[:44])
    Only 3 of 400 current rows have a label, too
    """
    return (
        f"Only {few} of {rows} current rows have a label, too few for a test: they were not used, "
        "and the comparison is that of rows without labels."
    )


def not_at_random(pvalue: float) -> str:
    """That labelled rows have other inputs than unlabelled ones."""
    return (
        f"The inputs of the labelled current rows differ from those of the others (p = "
        f"{pvalue:.3g}): labels are not missing at random, so tests and gap of the labelled rows "
        "need not hold for all current rows."
    )


def words_of(estimate: Estimate) -> str:
    """An estimate and its interval.

    Examples
    --------
    >>> from rdiv.inference.intervals import Estimate
    >>> print(words_of(Estimate(0.1, -0.05, 0.25)))
    +0.1 (-0.05 to +0.25)
    """
    return f"{estimate.value:+.3g} ({estimate.low:+.3g} to {estimate.high:+.3g})"


def _apart(found: Comparison) -> bool:
    """Whether no gap is expected because the inputs hardly overlap, and not because of strata."""
    expected = found.expected
    return expected is not None and expected.gap is None and expected.effective_rows is not None


def expected_finding(found: Comparison, model: str, loss: str) -> str:
    """The verdict "expected risk shift" in one sentence."""
    expected = found.expected
    if found.gap is None or expected is None:
        why = ", but their inputs do not overlap enough to say by how much" if _apart(found) else ""
        return (
            f"Expected risk shift: the {loss} to be expected of {model} differs between the "
            f"samples{why}."
        )
    before = expected.reference_loss
    if found.direction is None:
        return (
            f"Expected risk shift: the {loss} to be expected of {model} differs between the "
            "samples; in which direction is not established. No current row has a label."
        )
    return (
        f"Expected risk shift: {model} is expected to do {found.direction} on current: {loss} "
        f"{before:.4g} -> {before + found.gap:.4g}, if the relation between inputs and target "
        "holds. No current row has a label."
    )


def no_expected_finding(found: Comparison, model: str, loss: str) -> str:
    """The verdict "no shift" where no current row has a label."""
    gap = found.smallest_detectable_gap
    unseen = "A changed relation between inputs and target cannot be seen without labels."
    if _apart(found):
        return (
            f"No expected risk shift found for {model}, but the inputs of the samples do not "
            f"overlap enough to say which {loss} to expect. {unseen}"
        )
    if isinf(gap):
        return f"No expected risk shift found for {model}. {unseen}"
    return (
        f"No expected risk shift found for {model}: other inputs that raise the {loss} by "
        f"{gap:.3g} would have been found with 80 % probability. {unseen}"
    )


def expected_advice(found: Comparison) -> str:
    """What to do where no current row has a label."""
    if _apart(found):
        return _NOTHING_EXPECTED
    if found.verdict == "no shift":
        return (
            "Nothing was found to act on. That is not equality: a changed relation between inputs "
            "and target shows in labels alone. Label some current rows, drawn at random, to see it."
        )
    if found.direction == "better":
        return (
            "The current rows look easier for this model. Label some of them, drawn at random, "
            "before you trust that."
        )
    return (
        "Check that the current data are right, and label some current rows, drawn at random: they "
        "show whether the expected loss is the real one."
    )


def expected_gap_lines(found: Comparison, loss: str, model: str) -> list[str]:
    """The expected gap, what it rests on, and how much of current it covers."""
    expected = found.expected
    if expected is None:
        return []
    if expected.gap is None:
        lines = [f"expected gap: none, {expected.note}"]
    else:
        level = 100 * (1 - found.results["in-use"].alpha)
        lines = [
            f"expected gap: {expected.gap.value:+.4g} ({loss}), {level:g} % interval "
            f"{expected.gap.low:+.4g} to {expected.gap.high:+.4g} (asymptotic)",
            f"assumption: {ASSUMPTION}",
        ]
    lines.append(f"model in use: {model}")
    words = support_words(found)
    return [*lines, *([] if words is None else [f"support: {words}"])]


def _percent(share: float) -> str:
    """A share with two digits, and with three where it is all there is."""
    return f"{100 * share:.{2 if share < 0.995 else 3}g} %"


def support_words(found: Comparison) -> str | None:
    """How much of current lies outside what part A covers, and the gap on the rest."""
    expected = found.expected
    if expected is None or expected.outside is None or expected.outside_reference is None:
        return None
    text = (
        f"{_percent(expected.outside)} of current lies outside what the reference covers (of "
        f"held-out reference rows {_percent(expected.outside_reference)})"
    )
    if expected.covered_gap is None or expected.gap == expected.covered_gap:
        return text
    if expected.gap is None or expected.outside >= MUCH_OUTSIDE:
        text += f"; expected gap on the covered part {words_of(expected.covered_gap)}"
    return text


def prediction_words(found: Comparison) -> list[str]:
    """The predictions that were shown to move, one sentence each."""
    columns = found.prediction_columns or ()
    alpha = found.results[found.leading].alpha
    return [column.sentence() for column in columns if column.pvalue <= alpha][:3]


def labelled_lines(found: Comparison) -> list[str]:
    """What the rows without labels add, where some current rows have one."""
    part = found.labelled
    if part is None:
        return []
    rows = part.rows + part.unlabelled_rows
    text = f"labels: {part.rows} of {rows} current rows; tests are those of the labelled rows"
    if part.weight is None:
        return [f"{text}; {part.note}", *_more(found)]
    alone = ""
    if part.labelled_gap is not None:
        alone = f"; of the labelled rows alone the gap is {words_of(part.labelled_gap)}"
    return [
        f"{text}, the gap in use is that of all current rows (weight of the expected losses "
        f"{part.weight:.2f}){alone}",
        *_more(found),
    ]


def _more(found: Comparison) -> list[str]:
    assert found.labelled is not None
    texts = []
    for gap, labels in found.labelled.more_labels:
        if labels:
            texts.append(f"a gap of {gap:.3g} needs {labels} more")
        elif labels is None:
            texts.append(f"a gap of {gap:.3g} is not found by labels alone: more reference rows")
    return [f"more labels: {'; '.join(texts)} (80 % probability)"] if texts else []


def expected_carriers(lines: list[str]) -> list[str]:
    """Lines about slices and rows, where their losses are expected ones.

    Examples
    --------
    >>> print(expected_carriers(["slice: where age >= 60 the gap is +0.1"])[0])
    slice: where age >= 60 the expected gap is +0.1
    """
    words = {" the gap is ": " the expected gap is ", "(loss ": "(expected loss "}
    for word, expected in words.items():
        lines = [line.replace(word, expected) for line in lines]
    return lines


def label_remarks(found: Comparison) -> list[str]:
    """What was not asked, and what to keep in mind, because labels are absent or few."""
    if found.labels == "none":
        return ["the shared model needs labels on current, so r-div and score were not asked"]
    if found.labels == "some":
        return ["labels are taken to be missing at random among the current rows"]
    return []
