"""Write docs/measured/results.md and its pictures from the numbers in docs/measured/results/*.csv.

    python tools/results_page.py            write the page and the pictures
    python tools/results_page.py --check    fail when the page is not what the numbers say
    python tools/results_page.py --take DIR copy DIR/*/TABLE.csv of laptop runs, then write

Every number on the page, those in its first sentences included, comes from the files that
`rdiv reproduce TABLE --scale laptop` wrote.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copyfile

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.results_claims import Book, claims, levels, summary  # noqa: E402

from rdiv.reproduction import BY_NAME  # noqa: E402
from rdiv.reproduction.power_table import PowerTable, rate_and_interval  # noqa: E402
from rdiv.reproduction.running import command, read_csv  # noqa: E402

FOLDER, PAGE = ROOT / "docs" / "measured" / "results", ROOT / "docs" / "measured" / "results.md"
INTRO = """\
# The paper, measured again

<!-- Written by tools/results_page.py from docs/measured/results/*.csv; do not edit. -->

Every table and figure of the R-divergence paper about test power, by one command each: the paper's
number, ours with its 95 % interval, and how often the same test rejects when nothing differs. This
was measured at `laptop` scale: fewer trials, smaller samples and narrower networks than the
paper's, as each section says. [How to run it](../guide/reproduction.md) has the rest. The paper's
claims, each with the result:\
"""
REASONS = """\
A claim that fails at a sample size of the paper *does not stand*; one that fails here with other
data or at other sizes *does not show here*; one that our intervals cannot decide *stays open*.

Why claims fail: first, the numbers that the paper prints are not all those of the test that it
defines. Its published scripts reject always on HIGGS (two samples of one distribution included),
compute another statistic on Blob and HDGM (`cross-risk` here), and draw new data for each
permutation of MNIST. Second, one model fitted to both samples often serves both, and then its mean
losses are alike although the samples are not. What R-Div asks is whether they are alike *for the
model*; `score` asks of the same fit in which direction each sample would move it; each sees what
the other misses, and `omnibus` has both.\
"""
READING = """\
How to read a table: protocol `whole` tests all rows; `half` learns on one half of each sample and
tests the other; `fresh` learns on another draw of N rows and tests all rows of this one, as Liu et
al. (2020) do, so it has seen twice the data; its trials share a few trainings, so its intervals are
too narrow, and no verdict against R-Div rests on them. "paper is" says whether the paper's number
lies inside our interval, two of its standard errors granted.\
"""


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page; 1 when it is stale."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--take", type=Path, help="folder of laptop runs, one folder a table")
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
        (FOLDER / f"{name}.svg").write_text(BY_NAME[name].figure(lines), encoding="utf-8")
    return 0


def take(folder: Path) -> None:
    """Copy the numbers of finished laptop runs."""
    for path in sorted(folder.glob("*/*.csv")):
        if path.stem in BY_NAME and read_csv(path)[0]["scale"] == "laptop":
            FOLDER.mkdir(exist_ok=True)
            copyfile(path, FOLDER / path.name)


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
    if (line["table"], line["scale"]) != (name, "laptop"):
        yield f"a line of {line['table']} at {line['scale']} scale"
    if not isinstance(table, PowerTable):
        return
    for side in ("", "null_"):
        rejections, trials = line[f"{side}rejections"], line[f"{side}trials"]
        told = tuple(line[side + part] for part in ("rate", "low", "high"))
        if told != rate_and_interval(int(str(rejections)), int(str(trials))):
            yield f"{told} are not the rate and interval of {rejections} in {trials}"
    reported = table.paper.get(str(line["method"]), str(line["cell"]))
    if line["paper"] != (None if reported is None else reported.rate):
        yield f"the paper has {reported} for {line['method']} in {line['cell']}"


def page(book: Book) -> Iterator[str]:
    """Lines of markdown: what stands, the levels, then table by table."""
    yield INTRO
    found = list(claims(book))
    if found:
        yield from ("", *summary(found), "", REASONS)
        yield from ("", levels(book), "", "| The paper says | Here | So it | Why |")
        yield "|---|---|---|---|"
        yield from (f"| {c.says} | {c.found} | **{c.verdict}** | {c.why} |" for c in found)
    else:
        yield from ("", levels(book))
    missing = [f"`{name}`" for name in BY_NAME if name not in book.lines]
    if missing:
        yield from ("", f"Not measured at this scale yet: {', '.join(missing)}.")
    yield from ("", READING)
    for name, lines in book.lines.items():
        table = BY_NAME[name]
        yield from ("", f"## {table.about}", "")
        yield f"`{command(name, 'laptop', lines[0]['seed'])}`, numbers in"
        yield f"[results/{name}.csv](results/{name}.csv)."
        yield from ("", table.markdown(lines).rstrip(), "")
        yield f"![{table.about}](results/{name}.svg)"


if __name__ == "__main__":
    sys.exit(main())
