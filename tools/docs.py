"""Write every generated page and picture of the documentation; ``--check`` names the stale ones.

python tools/docs.py [--check] [GENERATOR ...]

Each generator is a tool beside this one with a ``main(arguments)`` that takes ``--check`` and
returns 1, after a sentence on the error stream, when what it finds is stale. What a page of
`docs/measured` counts is written by the command that the page names: it takes hours, not seconds.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

GENERATORS = (
    "cli_pages",
    "licence_table",
    "name_tables",
    "demo_picture",
    "score_picture",
    "contact_sheet",
    "tutorials",
    "results_page",
)


def main(arguments: list[str] | None = None) -> int:
    """Run the generators in turn; 1 when one of them found something stale."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if stale")
    parser.add_argument("names", nargs="*", metavar="GENERATOR", help="by default all")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.names) - set(GENERATORS))
    if unknown:
        parser.error(f"there is no generator {unknown[0]}; there are {', '.join(GENERATORS)}.")
    flags = ["--check"] if given.check else []
    names = given.names or GENERATORS
    return max(int(import_module(f"tools.{name}").main(flags)) for name in names)


if __name__ == "__main__":
    sys.exit(main())
