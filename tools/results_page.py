"""Write docs/measured/results.md and its pictures from the numbers in docs/measured/results/*.csv.

    python tools/results_page.py            write the page and the pictures
    python tools/results_page.py --check    fail when the page is not what the numbers say
    python tools/results_page.py --take DIR add the lines of DIR/*/TABLE.csv, then write

Every number on the page, those in its first sentences included, comes from the files that
`rdiv reproduce TABLE` wrote, at any scale; a line replaces one of the same part, size and scale.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.results_book import KEYS, Book, Line, best_lines  # noqa: E402
from tools.results_claims import statements, summary, tally  # noqa: E402
from tools.results_evidence import evidence, withdrawn  # noqa: E402

from rdiv.discrepancies.protocol import how_it_learns, model_of  # noqa: E402
from rdiv.models import BY_NAME as MODELS  # noqa: E402
from rdiv.names import spelled  # noqa: E402
from rdiv.reproduction import BY_NAME  # noqa: E402
from rdiv.reproduction.parts import Part, rows_tested  # noqa: E402
from rdiv.reproduction.power_table import PowerTable, rate_and_interval  # noqa: E402
from rdiv.reproduction.protocol import SCALES  # noqa: E402
from rdiv.reproduction.running import as_csv, command, read_csv  # noqa: E402

FOLDER, PAGE = ROOT / "docs" / "measured" / "results", ROOT / "docs" / "measured" / "results.md"
INTRO = """\
---
hide:
  - toc
---

# The paper, measured again

<!-- Written by tools/results_page.py from docs/measured/results/*.csv; do not edit. -->

The R-divergence paper's tables and figures of test power. Its N counts the rows of each dataset, of
which half tune and half are tested: **N = 1000 is a test of 500 rows a side**.\
"""
READING = """\
A line of a table is one test in one cell, with the rows a side that are tested, its permutations,
its trials and how often it rejects when nothing differs. A test that learns does so on the other
half of its draw, or on another draw as Liu et al. (2020) do; trials of the latter share a few
trainings, so their intervals are too narrow. Tests are compared only at the same rows, the same
model and the same number of permutations. The paper's number stands beside ours only where N / 2
rows a side were tested; "paper is" says whether it lies above our interval, below or inside it, two
of its standard errors granted. R-Div here ranks the gap over its standard error; the paper's is the
gap itself.

Why R-Div misses what other tests see: [the limits of R-Div](../guide/limits.md). How to run a
table, a part of one or other sizes: [measure the paper again](../guide/reproduction.md).\
"""


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page; 1 when it is stale."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--take", type=Path, help="folder of runs, one folder a table")
    args = parser.parse_args(arguments)
    if args.take:
        take(args.take)
    book = read_book(FOLDER)
    text = "\n".join(page(book)) + "\n"
    if args.check:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            print(f"{PAGE.name} is not what its numbers say; run `make docs`.", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    for name, lines in book.lines.items():
        (FOLDER / f"{name}.svg").write_text(
            BY_NAME[name].figure(best_lines(lines)), encoding="utf-8"
        )
    return 0


def take(folder: Path) -> None:
    """Add the lines of finished runs, of any scale, to those that are there."""
    for path in sorted(folder.glob("*/*.csv")):
        if path.stem in BY_NAME:
            add(path.stem, read_csv(path))


def add(name: str, lines: Sequence[Line]) -> None:
    """Add lines of a table to its file; of doubles the ones with most trials are kept."""
    FOLDER.mkdir(exist_ok=True)
    target = FOLDER / f"{name}.csv"
    old = read_csv(target) if target.exists() else []
    kept = without_doubles(joined(old, lines))
    target.write_text(as_csv(ordered(name, kept)), encoding="utf-8")


def without_doubles(lines: Sequence[Line]) -> list[Line]:
    """Of lines of one test at one place, those of the scale that has most trials there.

    The same seed makes the same draws at every scale, so that the others add nothing, unless a test
    of the same draws has no other line: tests are compared on the same draws, and these stay
    together. Of two parts of a scale with the same trials of a test the first has its line. Scales
    of noisy labels differ in all they do.
    """
    best = set(map(id, best_lines(lines)))
    kept = {_draws(x) for x in lines if id(x) in best}
    once = {_trial_by_trial(x): x for x in reversed(lines)}
    return [x for x in lines if _draws(x) in kept and once[_trial_by_trial(x)] is x]


def _trial_by_trial(line: Line) -> tuple[object, ...]:
    """What the lines of two parts have in common if they are the same trials of the same test."""
    if "cell" not in line:
        return (id(line),)
    names = ("scale", "seed", "cell", "method", "model", "protocol", "n_p", "resamples", "alpha")
    return tuple(line[x] for x in (*names, "trials", "repeats", "rejections", "null_rejections"))


def _draws(line: Line) -> tuple[object, ...]:
    """Lines of powers with equal ones are of the same draws; all others stand alone."""
    names = ("scale", "seed", "part", "cell", "n_p", "trials", "protocol", "resamples", "alpha")
    return tuple(line[x] for x in names) if "cell" in line else (id(line),)


def joined(old: Sequence[Line], new: Sequence[Line]) -> list[Line]:
    """Old and new lines; a new one replaces an old one of the same test, place and scale."""
    if old and list(old[0]) != list(new[0]):
        return list(new)

    def key(line: Line) -> tuple[object, ...]:
        return tuple(line.get(name) for name in KEYS)

    return list({key(line): line for line in (*old, *new)}.values())


def ordered(name: str, lines: list[Line]) -> list[Line]:
    """Lines of powers by level, cell and part, as the table has them; others as they are."""
    table = BY_NAME[name]
    if not isinstance(table, PowerTable):
        return lines
    parts = {scale: [part.name for part in table.scales[scale].parts] for scale in SCALES}
    whats = dict.fromkeys(_what(line) for line in lines)
    places = sorted(whats, key=lambda what: (what != "", _dimension(what)))  # the paper's N first

    def key(line: Line) -> tuple[object, ...]:
        numbers = tuple(int(x) for x in re.findall(r"\d+(?= rows a side|$)", line["cell"]))
        scale = line["scale"]
        part = parts[scale].index(line["part"])
        place = places.index(_what(line))
        return -line["alpha"], place, numbers, SCALES.index(scale), part

    return sorted(lines, key=key)


def _what(line: Line) -> str:
    """A cell without its rows: what is compared."""
    return re.sub(r"\d+ rows a side.*|\d+$", "", line["cell"])


def _dimension(what: str) -> int:
    """Cells by their dimension; those without one stay as they are."""
    found = re.match(r"d = (\d+)", what)
    return int(found[1]) if found else 0


def read_book(folder: Path) -> Book:
    """All numbers, each checked against the counts and the paper's tables it must agree with."""
    found = {}
    for name in BY_NAME:
        path = folder / f"{name}.csv"
        if path.exists():
            found[name] = read_csv(path)
            wrong = [problem for line in found[name] for problem in problems(name, line)]
            if wrong:
                sys.exit(f"{path.name}: {wrong[0]}")
    return Book(found)


def problems(name: str, line: dict[str, object]) -> Iterator[str]:
    """What of a line contradicts its own counts or the paper's table."""
    table = BY_NAME[name]
    if line["table"] != name or line["scale"] not in SCALES:
        yield f"a line of {line['table']} at {line['scale']} scale"
    if not isinstance(table, PowerTable):
        return
    if line["tested"] != rows_tested(int(str(line["n_p"])), str(line["protocol"])):
        yield f"{line['tested']} rows tested of {line['n_p']}"
    for side in ("", "null_"):
        rejections, trials = line[f"{side}rejections"], line[f"{side}trials"]
        told = tuple(line[side + part] for part in ("rate", "low", "high"))
        if told != rate_and_interval(int(str(rejections)), int(str(trials))):
            yield f"{told} are not the rate and interval of {rejections} in {trials}"
    reported = table.paper.get(str(line["method"]), str(line["cell"]))
    if line["paper"] != (None if reported is None else reported.rate):
        yield f"the paper has {reported} for {line['method']} in {line['cell']}"


def page(book: Book) -> Iterator[str]:
    """Lines of markdown: what stands and what does not, the evidence, then table by table."""
    found = list(statements(book))
    yield from (f"{INTRO} {tally(found)}", "")
    yield from summary(found)
    links = ", ".join(
        f"[{BY_NAME[name].name}](#{anchor(BY_NAME[name].about)})" for name in book.lines
    )
    yield from (f"The tables: {links}.", "") if links else ()
    yield from ("## How to read the tables", "", READING, "")
    yield from ("## What the published scripts compute", "", *evidence(), "")
    yield from ("## What an earlier version of this page said", "", *withdrawn())
    missing = [f"`{name}`" for name in BY_NAME if name not in book.lines]
    if missing:
        yield from ("", f"Not measured yet: {', '.join(missing)}.")
    for name, lines in book.lines.items():
        table = BY_NAME[name]
        yield from ("", f"## {table.about}", "")
        runs = dict.fromkeys((line["scale"], line["seed"]) for line in lines)
        commands = ", ".join(f"`{command(name, scale, seed)}`" for scale, seed in runs)
        yield f"{commands}, numbers in [results/{name}.csv](results/{name}.csv)."
        yield from ("", *unmeasured(name, lines), table.markdown(lines).rstrip(), "")
        yield f"![{table.about}](results/{name}.svg)"


def anchor(title: str) -> str:
    """What a heading is called in a link.

    Examples
    --------
    >>> anchor("PACS: six pairs, of domains")
    'pacs-six-pairs-of-domains'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def unmeasured(name: str, lines: Sequence[Line]) -> Iterator[str]:
    """What the scales of the lines have that was not measured, or not to the end.

    Parts without a line have their command. What nobody asked for at the paper's scale is its own
    plan, so that scale has only parts that were begun.
    """
    table = BY_NAME[name]
    if not isinstance(table, PowerTable):
        return
    for scale, seed in dict.fromkeys((line["scale"], line["seed"]) for line in lines):
        planned = {part.name: part for part in table.scales[scale].parts}
        some = [line for line in lines if line["scale"] == scale]
        there = {line["part"] for line in some}
        parts = [
            name
            for name, part in planned.items()
            if name not in there and not measured_elsewhere(part, lines)
        ]
        if parts and scale != "paper":
            paired = any(part.endswith("one-fit-19") for part in parts)
            why = ", so H-Div with 19 permutations is not compared here" if paired else ""
            yield f"Not measured yet{why}: `{command(name, scale, seed, parts)}`."
            yield ""
        yield from unfinished(scale, planned, some)


def measured_elsewhere(part: Part, lines: Sequence[Line]) -> bool:
    """Whether lines of whatever part and scale have every cell, test and model of a part."""
    names = ("cell", "method", "model", "n_p", "protocol", "resamples", "alpha")
    there = {tuple(line[name] for name in names) for line in lines}
    for method, test in part.tests.items():
        model = model_of(test)
        spelt = None if model is None else spelled(model, MODELS)
        protocol = part.train if how_it_learns(test) else "whole"
        for n, source, alpha in product(part.sizes, part.sources, part.alphas):
            cell = part.label(n, source, alpha, tested=rows_tested(n, protocol))
            if (cell, method, spelt, n, protocol, part.n_resamples, alpha) not in there:
                return False
    return True


def unfinished(scale: str, planned: Mapping[str, Part], lines: Sequence[Line]) -> Iterator[str]:
    """Parts whose rows have fewer trials than the plan of their scale."""
    for name, part in planned.items():
        counts = {min(x["trials"], x["null_trials"]) for x in lines if x["part"] == name}
        full = part.trials * part.repeats
        if counts and min(counts) < full:
            span = " to ".join(map(str, sorted({min(counts), max(counts)})))
            yield f"Part `{name}` at {scale} scale has {span} of its {full} trials a cell."
            yield ""


if __name__ == "__main__":
    sys.exit(main())
