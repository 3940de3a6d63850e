"""Write the table of discrepancies in docs/guide/which.md from `rdiv.discrepancies.describe()`.

python tools/discrepancy_table.py [--check]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from rdiv.discrepancies import describe

TARGET = Path(__file__).resolve().parents[1] / "docs" / "guide" / "which.md"
BLOCK = re.compile(r"(<!-- discrepancies -->\n).*?(<!-- end of discrepancies -->\n)", re.DOTALL)


def main(arguments: list[str] | None = None) -> int:
    """Write the table, or with --check return 1 when the one that is there is stale."""
    given = sys.argv[1:] if arguments is None else arguments
    page = TARGET.read_text(encoding="utf-8")
    fresh = BLOCK.sub(lambda found: found[1] + table() + found[2], page)
    if "--check" not in given:
        TARGET.write_text(fresh, encoding="utf-8")
    elif fresh != page:
        print(f"the table in {TARGET.name} is stale; run `make docs`.", file=sys.stderr)
        return 1
    return 0


def table() -> str:
    """The table as markdown."""
    lines = [
        "| Name | Class | Compares | `model=` | Learns from labels | Cost | Sees | Reference |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for d in describe():
        cells = (f"`{d.name}`", f"`{d.cls}`", d.compares, d.model, d.learns, d.cost, d.sees)
        lines.append(f"| {' | '.join(cells)} | {d.citation} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
