"""Results of rdiv at fixed seeds: run them, compare two checkouts, keep them as golden files.

    python tools/golden.py compare OLD NEW      two checkouts, bit for bit, on this machine
    python tools/golden.py check                this checkout against tests/golden/*.json
    python tools/golden.py write                rewrite tests/golden/*.json
    python tools/golden.py run --out FILE.json  all results of one checkout, in full

The samples are made here: no network and no data file is needed. Every discrepancy, every command
and every public call without a command runs once or more, mistakes of users included; the public
names and signatures are listed beside them. `tools/golden_rules.py` says what has to agree.

`compare` shows that a change of the code changed no result, which is what a change that moves or
renames things has to show; with ``--words`` the sentences and pages have to agree as well. The
committed files hold on any processor, so they hold less. Rewrite them only together with a change
that is meant to change these very results, and say in CHANGELOG.md what changed and why.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.golden_rules import CLOSENESS, Closeness, committed, differences  # noqa: E402

FOLDER = ROOT / "tests" / "golden"
SECTIONS = ("commands", "calls", "names")
THREADS = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}

_SMALL = re.compile(r"([\[{])\n\s+([^\[\]{}]{1,90}?)\n\s+([\]}])")


_BREAK = re.compile(r",\n\s+")


def main(arguments: list[str] | None = None) -> int:
    """Run one of the four commands; 1 says that something differs, 2 that nothing was compared."""
    args = parser().parse_args(arguments)
    if args.command == "run":
        write_json(args.out, results_here(args.src.resolve()))
        return 0
    if args.command == "compare":
        return compare(args.old, args.new, words=args.words)
    if args.command == "check":
        return tell(list(stale(results_of(ROOT))))
    write(results_of(ROOT))
    return 0


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="write all results of one checkout")
    run.add_argument("--src", type=Path, default=ROOT / "src", help="folder that holds rdiv")
    run.add_argument("--out", type=Path, required=True, help="file to write")
    both = commands.add_parser("compare", help="compare two checkouts, bit for bit")
    both.add_argument("old", type=Path, help="checkout as it was")
    both.add_argument("new", type=Path, help="checkout as it is now")
    both.add_argument("--words", action="store_true", help="compare sentences and pages, too")
    commands.add_parser("check", help="compare this checkout with the committed files")
    commands.add_parser("write", help="rewrite the committed files")
    return top


def results_here(source: Path) -> dict[str, Any]:
    """All results of the rdiv in a folder, which has not been imported before."""
    os.environ.update(THREADS)
    os.environ["PYTHONPATH"] = str(source)  # for the processes that rdiv starts
    sys.path.insert(0, str(source))
    import rdiv

    if Path(rdiv.__file__).resolve().parents[1] != source:
        refuse(f"{source} holds no rdiv; name the folder src of a checkout.")
    from tools.golden_cases import all_cases
    from tools.golden_names import public_names

    return {**all_cases(), "names": public_names()}


def results_of(checkout: Path) -> dict[str, Any]:
    """All results of a checkout, computed in a process of its own."""
    source = source_of(checkout)
    if sys.stderr.isatty():
        print(f"results of {checkout}", file=sys.stderr)
    with TemporaryDirectory() as folder:
        out = Path(folder) / "results.json"
        command = [sys.executable, __file__, "run", "--src", str(source), "--out", str(out)]
        environment = {**os.environ, **THREADS, "PYTHONPATH": str(source)}
        if subprocess.run(command, env=environment, check=False).returncode:
            refuse(f"the results of {checkout} could not be computed; see above.")
        found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def source_of(checkout: Path) -> Path:
    """The folder of a checkout that holds rdiv."""
    source = checkout.resolve() / "src"
    if not (source / "rdiv").is_dir():
        refuse(f"{checkout} is no checkout of rdiv: it has no folder src/rdiv.")
    return source


def compare(old: Path, new: Path, *, words: bool) -> int:
    """Tell every difference between two checkouts."""
    for checkout in (old, new):
        source_of(checkout)  # before any work
    before, after = results_of(old), results_of(new)
    return tell(list(differences(before, after, Closeness(words=words))))


def stale(results: dict[str, Any]) -> Iterator[str]:
    """Where results differ from the committed files by more than their cases allow."""
    for section, found in committed_form(results).items():
        path = FOLDER / f"{section}.json"
        kept = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        for name in dict.fromkeys([*kept, *found]):
            close = Closeness()
            if section != "names" and name in kept:
                close = CLOSENESS[kept[name]["kept"]]
            old, new = ({name: side[name]} if name in side else {} for side in (kept, found))
            yield from differences(old, new, close, (section,))


def committed_form(results: dict[str, Any]) -> dict[str, Any]:
    """What of the results the committed files hold, by section."""
    cases = {
        section: {name: committed(case) for name, case in results[section].items()}
        for section in SECTIONS[:2]
    }
    return {**cases, "names": results["names"]}


def write(results: dict[str, Any]) -> None:
    """Rewrite the committed files."""
    FOLDER.mkdir(exist_ok=True)
    for section, found in committed_form(results).items():
        write_json(FOLDER / f"{section}.json", found)


def write_json(path: Path, document: Any) -> None:
    """Write a document with one line for every short list and mapping."""
    text = json.dumps(document, indent=1, ensure_ascii=False)
    flat = _SMALL.sub(lambda part: part[1] + _BREAK.sub(", ", part[2]) + part[3], text)
    path.write_text(flat + "\n", encoding="utf-8")


def tell(found: list[str]) -> int:
    """Print differences, and give the exit code."""
    for text in found:
        print(text)
    print(f"{len(found)} differences" if found else "no difference", file=sys.stderr)
    return int(bool(found))


def refuse(sentence: str) -> NoReturn:
    """Say why nothing could be compared, and exit with another code than for a difference."""
    print(f"golden: {sentence}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    sys.exit(main())
