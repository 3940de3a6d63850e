"""What the words of a page mean: at each term, and in one list below the first screen."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "ALARM_WORDS",
    "COMPARISON_WORDS",
    "MEANINGS",
    "MISSING_LABEL_WORDS",
    "NOISE_WORDS",
    "word_list",
]

MEANINGS = {
    "Reference and current": "The reference is the table that the model was built for, current is "
    "the one that it gets now. Every difference on this page is current minus reference.",
    "Loss": "What a mistake of the model on a row costs; smaller is better. Log loss: minus the "
    "logarithm of the probability that the model gave to the true class. Squared error: the "
    "squared distance between prediction and truth. 0/1 loss: 1 for a wrong class, 0 for a right "
    "one. Surprise, or negative log density: how unusual a row is for a model of the inputs.",
    "Gap of the model in use": "The mean loss of the model in use on current minus its mean loss "
    "on reference. A positive gap is worse. The interval holds the gap on future rows of both "
    "kinds in 95 of 100 such comparisons, or in the share that is named.",
    "Model in use": "The model whose quality you want to know about. It was given, or rdiv trained "
    "it on part of the reference; it has not seen the current data.",
    "Shared gap": "The gap of one model that was trained on both samples: its mean loss on current "
    "minus that on reference. It is what remains when the model knows the current data too.",
    "Shared model": "One model trained on both samples, without knowing which row came from which. "
    "With folds (parts of the rows), the loss of a row comes from a fit to the other folds, so "
    "that memorising a row does not help (it is then called out-of-fold).",
    "Retraining": "How the loss changes, row by row, when the model in use is "
    "replaced by the shared model. Below 0 the shared model is better.",
    "p-value": "How often chance alone gives at least such a difference when nothing has changed: "
    "the rows are dealt out to two samples again, at random (a permutation), and the share of "
    "differences that are at least as large is counted. Several questions are asked, and each "
    "gives chance another try: an adjusted p-value accounts for that.",
    "Smallest detectable gap": "With this many rows, a true gap of this size is found with "
    "80 % probability. Smaller ones are often missed.",
    "Rows": "How many rows of each sample took part. More rows find smaller gaps.",
    "Labels": "How many current rows have a value of the target. The tests use these rows alone; "
    "the gap also uses what is expected of the others.",
    "More labels": "How many further current rows, drawn at random, would need a label until a gap "
    "of the named size is found with 80 % probability.",
    "Expected gap of the model in use": "No current row has a label, so this is the gap to be "
    "expected from inputs and predictions. It is the real one if the relation between inputs and "
    "target is still that of the reference.",
    "Outside what the reference covers": "The share of current rows that are farther from the "
    "reference than almost all of its own rows. What to expect there is a guess.",
    "Expected gap on the covered part": "The expected gap of the current rows that the reference "
    "covers: those with reference rows near them.",
    "Risk shift, hidden shift": "A risk shift: the mean loss of the model in use changed. A hidden "
    "shift: that was not shown, but the samples differ for a model trained on both, or would train "
    "different models. Kind not established: all questions together show a difference, none of "
    "them does alone.",
    "Expected risk shift": "No current row has a label, and the loss to be expected from inputs "
    "and predictions differs.",
    "Inputs or relation": "The gap of the model in use in two parts, which sum to it. Explained by "
    "the inputs that moved: the gap if the relation between inputs and target had stayed as it is "
    "in the reference. The relation changed: the rest, where the loss is another one at equal "
    "inputs. A part whose interval covers 0 was not shown.",
    "No overlap": "Hardly any reference row is like the current rows, so that nothing can be "
    "compared at equal inputs, and the gap is not split. Effective rows: how many reference rows "
    "are left when those unlike current count less.",
    "Contribution, correction": "How much of the inputs part goes with the new values of a column, "
    "or of columns that go together. The correction completes the sum: it could not be assigned to "
    "a single column.",
    "Slices": "Parts of the data with a condition of one or two columns, searched for where the "
    "gap is largest. They were found on one half of the rows and tested on the other, so a slice "
    "with a small adjusted p-value is more than a lucky find. Weighted: the same change with "
    "reference rows counted so that their inputs are those of current.",
    "Weights": "A gradient says how a row would change the model if it were fitted again. Where "
    "the mean gradients of the two samples differ, a model trained on current would use the column "
    "in another way.",
    "Share of a row": "What the loss of one row adds to the gap, over the gap.",
    "Unlike the reference": "Current rows that are farther from the reference than its own rows "
    "are from each other. They may be errors, or a kind of row that the reference lacks.",
    "Moved": "A column of the inputs has other values in current than in reference. Whether the "
    "model minds is another question, so this is not part of the verdict. Standard deviations "
    "(sd): the difference of the means over the spread of the values.",
    "Predictions that moved": "The model predicts other values on current than on reference. It "
    "may be right to do so: this is not part of the verdict.",
    "Questions": "in-use asks about the model in use, r-div about the mean loss of the shared "
    "model, score about its gradients: would the two samples train different models? Their "
    "adjusted p-values decide the verdict together. The test of the inputs alone stands beside it.",
    "Random permutations": "The gap that chance alone makes: the same rows, dealt out to two "
    "samples again and again. The gap is divided by its standard error, its own uncertainty, so "
    "that samples of other sizes can be compared.",
    "Asymptotic interval": "An interval that may miss more often than it says, because a side has "
    "few rows, because a few rows carry most of its losses, or because these have a heavy tail. "
    "The p-value does not need it.",
    "Levels": "The parts that were compared with the reference one by one, such as files, days or "
    "values of a column.",
    "Models": "Each model is compared on the same two samples.",
    "Shifted": "Where a difference was shown, with p-values adjusted for all that is compared.",
    "Largest gap": "The largest difference of mean losses, current minus reference; positive is "
    "worse. It need not be a difference that was shown.",
    "E-value": "The evidence against \u201cnothing has changed\u201d, gathered over all looks. "
    "While nothing changes it reaches 20, ever, in at most 1 of 20 monitors: that is the "
    "alarm at level 0.05.",
    "P-value at any time": "One over the largest e-value so far. It holds however often you look.",
    "Gap so far": "The mean loss of all rows added so far minus that of the reference; positive is "
    "worse. Its interval holds at all looks together.",
    "Expected gap so far": "The gap so far where rows lack labels: the one to be expected from "
    "inputs and predictions, if the relation between inputs and target is that of the reference.",
    "Batches": "What was added to the monitor, one file or table at a time.",
    "Reference": "The rows that every batch is compared with, and the model whose losses are "
    "watched.",
    "Changed since": "The batch from which on the losses fit a change best, and the batches that "
    "are plausible beside it.",
    "Gap since then": "The mean loss from the change on minus that of the reference.",
    "Suspected rows": "Rows whose given label the model finds so unlikely that somebody should "
    "look at it.",
    "Wrong labels, estimated": "The share of all labels that are estimated to be wrong.",
    "Discrepancy": "The mean loss of the suspected rows minus that of the others: how clearly the "
    "two differ for the model.",
    "Kept rows": "The rows that are left when suspected ones are taken out.",
    "Classes": "The different labels.",
    "Model": "The model that judged the labels. No row was judged by a fit that had seen it.",
}
"""Terms as they stand on a page, and what they mean."""

COMPARISON_WORDS = (
    "Reference and current", "Loss", "Risk shift, hidden shift", "Model in use",
    "Gap of the model in use", "Shared model", "Shared gap", "Retraining",
    "p-value", "Smallest detectable gap", "Inputs or relation", "No overlap",
    "Contribution, correction", "Slices", "Moved", "Asymptotic interval",
)  # fmt: skip
"""The list of a comparison."""

MISSING_LABEL_WORDS = (
    "Expected risk shift", "Expected gap of the model in use", "Outside what the reference covers",
    "Labels", "More labels",
)  # fmt: skip
"""What comes to the list where current rows lack labels."""

ALARM_WORDS = (
    "E-value", "P-value at any time", "Gap so far", "Reference", "Batches", "Changed since", "Loss",
)  # fmt: skip
"""The list of a monitor."""

NOISE_WORDS = (
    "Suspected rows", "Wrong labels, estimated", "Discrepancy", "Kept rows", "Classes", "Model",
    "Loss",
)  # fmt: skip
"""The list of a search for wrong labels."""


def word_list(terms: Iterable[str]) -> list[dict[str, str]]:
    """Terms and their meanings, as a page lists them.

    Examples
    --------
    >>> print(word_list(["Classes"]))
    [{'term': 'Classes', 'meaning': 'The different labels.'}]
    """
    return [{"term": term, "meaning": MEANINGS[term]} for term in terms]
