"""Run the tutorials of docs/guide/tutorials and write what they print; ``--check`` only compares.

    python tools/tutorials.py [--check] [NAME ...]

Every block of Python of a page runs in one namespace; the block of text that follows it is what it
printed. Reports that a page writes are kept beside it. Pages that need RDIV_DATA are left as they
are where there is none.
"""

from __future__ import annotations

import argparse
import difflib
import io
import os
import re
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "guide" / "tutorials"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)


def main(arguments: list[str] | None = None) -> int:
    """Rewrite or compare the pages; 1 when one is stale."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if stale")
    parser.add_argument("names", nargs="*", metavar="NAME", help="by default all")
    given = parser.parse_args(arguments)
    code = 0
    for name in given.names or [path.stem for path in sorted(FOLDER.glob("*.md"))]:
        page = FOLDER / f"{name}.md"
        text = page.read_text(encoding="utf-8")
        if "RDIV_DATA" in text and not os.environ.get("RDIV_DATA"):
            print(f"{name}: left as it is, because RDIV_DATA is not set", file=sys.stderr)
            continue
        fresh = run(text, None if given.check else FOLDER)
        if given.check and fresh != text:
            lines = difflib.unified_diff(text.splitlines(), fresh.splitlines(), "page", "run", n=1)
            print(f"docs/guide/tutorials/{name}.md is stale:", *lines, sep="\n", file=sys.stderr)
            code = 1
        elif not given.check:
            page.write_text(fresh, encoding="utf-8")
    return code


def run(text: str, keep: Path | None) -> str:
    """The page with what its code prints; reports that it writes go to a folder, if given."""
    names: dict[str, object] = {"__name__": "tutorial"}

    def block(match: re.Match[str]) -> str:
        out = io.StringIO()
        with redirect_stdout(out):
            exec(compile(match.group(1), "tutorial", "exec"), names)
        said = "\n".join(line.rstrip() for line in out.getvalue().splitlines())
        shown = f"\n```text\n{said}\n```\n" if said else ""
        return f"```python\n{match.group(1)}```\n{shown}"

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        fresh = BLOCK.sub(block, text)
        if keep:
            for report in sorted(Path(folder).glob("*.html")):
                (keep / report.name).write_bytes(report.read_bytes())
    return fresh


if __name__ == "__main__":
    sys.exit(main())
