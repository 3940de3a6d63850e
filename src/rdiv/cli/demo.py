"""rdiv demo: three comparisons on real scans of handwritten digits, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rdiv.cli.display import show_renderable, stages, terminal
from rdiv.cli.options import JsonFile, Seed
from rdiv.cli.outputs import check_destination, deliver, write_out
from rdiv.comparison.sentences import inputs_finding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rdiv.comparison.result import Comparison

    Sample = tuple[NDArray[np.float64], NDArray[np.intp]]

__all__ = ["MARK", "WRONG", "Case", "digit_cases", "show_demo"]


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
            "twenty gives at level 0.05. The interval says how large a gap could have been missed.",
            reference,
            (x_q, y_q),
        ),
        Case(
            "marked margin",
            f"A new scanner adds {MARK} of 16 grey levels along the left edge, where hardly any "
            "digit reaches.",
            "The inputs shifted, and a monitor of the inputs would raise an alarm. The model does "
            "not use the margin, so its loss should not change.",
            reference,
            (marked, y_q),
        ),
        Case(
            "wrong labels",
            f"One label in {round(1 / WRONG)} is typed wrong, as the next digit; the scans are "
            "untouched.",
            "The inputs are those of case 1, so no monitor of the inputs can see this. The loss "
            "does: the gap says how much worse, and the interval how sure that is.",
            reference,
            (x_q, np.where(mistyped, (y_q + 1) % 10, y_q)),
        ),
    ]


MODEL = "logistic"

NEXT = (
    "Your own files:  rdiv compare a.csv b.csv --target y",
    "All options:     rdiv compare --help",
)


def show_demo(seed: Seed = 0, json: JsonFile = None) -> None:
    """Show three comparisons on real data, side by side.

    Scans of handwritten digits that come with scikit-learn, halved at random: first unchanged, then
    with inputs that change where the model does not look, then with wrong labels, which change the
    loss but not the inputs. It takes a few seconds and needs no network.
    """
    check_destination(json)
    with stages() as stage:
        stage("loading the digits")
        pass
        from rdiv.comparison.compare import compare

        cases = digit_cases(seed)
        found = []
        for number, case in enumerate(cases, start=1):
            stage(f"case {number} of {len(cases)}: fitting and testing")
            found.append(compare(case.reference, case.current, model=MODEL, rng=seed))
    deliver(json, _document(cases, found), lambda: _show(cases, found))


def _document(cases: list[Case], found: list[Comparison]) -> str:
    from rdiv.results import SCHEMA, as_json

    entries = [
        {"name": case.name, "done": case.done, "comparison": comparison.to_dict()}
        for case, comparison in zip(cases, found, strict=True)
    ]
    return as_json({"schema": SCHEMA, "cases": entries})


def _show(cases: list[Case], found: list[Comparison]) -> None:
    console = terminal()
    if console is None:
        write_out(_plain(cases, found))
    else:
        show_renderable(console, *_layout(cases, found))


def _introduction(found: Comparison) -> str:
    test = found.results["r-div"]
    return (
        f"Scans of handwritten digits, halved at random: {test.n_p} reference, {test.n_q} current. "
        f"A model ({test.model}) reads the digit; its mean losses are compared, in nats."
    )


def _numbers(comparison: Comparison) -> dict[str, str]:
    """What is shown of one case, by label."""
    test, inputs = comparison.results[comparison.leading], comparison.input_test
    interval = comparison.leading_interval
    assert inputs is not None
    assert interval is not None
    direction = "" if comparison.direction is None else f", {comparison.direction}"
    return {
        "verdict": comparison.verdict + direction,
        "r-div": f"p = {test.pvalue:.3g}",
        "score": f"p = {comparison.results['score'].pvalue:.3g}",
        "gap in mean loss": f"{comparison.gap:+.3f}",
        f"{100 * (1 - test.alpha):g} % interval": f"{interval.low:+.3f} to {interval.high:+.3f}",
        "inputs alone": inputs_finding(inputs),
        "energy": f"p = {inputs.pvalue:.3g}",
    }


def _plain(cases: list[Case], found: list[Comparison]) -> str:
    blocks = [_introduction(found[0])]
    for number, (case, comparison) in enumerate(zip(cases, found, strict=True), start=1):
        numbers = [f"  {label}: {text}" for label, text in _numbers(comparison).items()]
        blocks.append("\n".join([f"Case {number}, {case.name}. {case.done}", *numbers]))
    lessons = [f"{number}. {case.lesson}" for number, case in enumerate(cases, start=1)]
    blocks += ["\n".join(["What to look at", *lessons]), "\n".join(NEXT)]
    return "\n\n".join(blocks) + "\n"


def _layout(cases: list[Case], found: list[Comparison]) -> list[Any]:
    from rich import box
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table("", box=box.HORIZONTALS, show_lines=False, header_style="bold")
    for number, case in enumerate(cases, start=1):
        table.add_column(f"{number} {case.name}", ratio=1)
    table.add_row("what was done", *[case.done for case in cases], end_section=True)
    numbers = [_numbers(comparison) for comparison in found]
    for label in numbers[0]:
        style = "bold" if label in ("verdict", "inputs alone") else ""
        table.add_row(label, *[column[label] for column in numbers], style=style)
    lessons = Table.grid(padding=(0, 1))
    for number, case in enumerate(cases, start=1):
        lessons.add_row(f"{number}", case.lesson)
    parts: list[Any] = [
        Text(_introduction(found[0])),
        table,
        Text("What to look at", style="bold"),
        lessons,
    ]
    return [Padding(part, (1, 1, 0, 1)) for part in [*parts, Text("\n".join(NEXT))]]
