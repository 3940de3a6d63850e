"""Write the tables of everything that has a name, and its entries in the reference, from the code.

python tools/name_tables.py [--check]

Models, discrepancies, sources and tables of the paper say on their classes what they are; a block
of a page between ``<!-- NAME -->`` and ``<!-- end of NAME -->`` is made of that.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rdiv import discrepancies, models, reproduction, sources

DOCS = Path(__file__).resolve().parents[1] / "docs"


def main(arguments: list[str] | None = None) -> int:
    """Write all blocks, or with --check return 1 when one of those that are there is stale."""
    given = sys.argv[1:] if arguments is None else arguments
    stale = 0
    for place, blocks in BLOCKS.items():
        path = DOCS / place
        page = path.read_text(encoding="utf-8")
        fresh = page
        for name, block in blocks.items():
            fresh = replaced(fresh, name, block())
        if "--check" not in given:
            path.write_text(fresh, encoding="utf-8")
        elif fresh != page:
            print(f"a table in {path.name} is stale; run `make docs`.", file=sys.stderr)
            stale = 1
    return stale


def replaced(page: str, name: str, block: str) -> str:
    """The page with what stands between the marks of a block replaced."""
    marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->\n)", re.DOTALL)
    fresh, count = marks.subn(lambda found: found[1] + block + found[2], page)
    if count != 1:
        raise SystemExit(f"there must be one block {name!r}, found {count}.")
    return fresh


def table(header: str, rows: Sequence[Sequence[str]]) -> str:
    """A table in markdown, of cells as they are."""
    columns = header.split(", ")
    lines = [columns, ["---"] * len(columns), *rows]
    texts = [f"| {' | '.join(cells)} |" for cells in lines]
    texts[1] = f"{'|---' * len(columns)}|"
    return "\n".join(texts) + "\n"


def model_table() -> str:
    """One row for each model."""
    header = "Name, Class, What it is, Loss of a row, Needs a target, Good for, Keep in mind"
    return table(
        header,
        [
            (f"`{m.name}`", f"`{m.cls}`", m.about, m.row_loss, m.target, m.suits, m.keep_in_mind)
            for m in models.describe()
        ],
    )


def discrepancy_table() -> str:
    """One row for each discrepancy."""
    header = "Name, Class, Compares, `model=`, Learns from origins, Cost, Sees, Reference"
    return table(
        header,
        [
            (f"`{d.name}`", f"`{d.cls}`", d.compares, d.model, d.learns, d.cost, d.sees, d.citation)
            for d in discrepancies.describe()
        ],
    )


def source_table() -> str:
    """One row for each source."""
    return table(
        "Name, Class, What it draws, Columns, Under the null, Model of the paper",
        [
            (f"`{s.name}`", f"`{s.cls}`", s.about, s.holds, s.under_null, f"`{s.model}`")
            for s in sources.describe()
        ],
    )


def paper_table() -> str:
    """One row for each table or figure of the paper."""
    rows = [(f"`{name}`", paper.about) for name, paper in reproduction.BY_NAME.items()]
    return table("Table, What it shows", rows)


def entries(names: Mapping[str, type]) -> Callable[[], str]:
    """Function that makes the entries of all classes in the reference."""

    def lines() -> str:
        return "\n" + "".join(f"::: {cls.__module__}.{cls.__name__}\n\n" for cls in names.values())

    return lines


BLOCKS: dict[str, dict[str, Callable[[], str]]] = {
    "guide/which.md": {"models": model_table, "discrepancies": discrepancy_table},
    "guide/sources.md": {"sources": source_table},
    "guide/reproduction.md": {"tables": paper_table},
    "reference/api.md": {
        "models": entries(models.BY_NAME),
        "discrepancies": entries(discrepancies.BY_NAME),
        "sources": entries(sources.BY_NAME),
    },
}


if __name__ == "__main__":
    sys.exit(main())
