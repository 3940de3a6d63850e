"""What importing rdiv and asking for help cost, each in a new interpreter.

    python benchmarks/speed/bench_import.py

The start of the interpreter itself is not counted.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.speed.timing import ratio, show, take_turns_fresh

RUNS = 9


def main() -> None:
    """Print the times and the ratio for each claim."""
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    print(f"each in a new interpreter, best of {RUNS}", flush=True)
    times = take_turns_fresh(
        {
            "import numpy": "import numpy",
            "import rdiv": "import rdiv",
            "from rdiv import two_sample_test": "from rdiv import two_sample_test",
            "import rdiv, typer": "import rdiv, typer",
            "rdiv --help": "from rdiv.cli import main; main(['--help'])",
        },
        RUNS,
    )
    for name, seconds in times.items():
        show(name, seconds)
    ratio("import rdiv / import numpy", times["import rdiv"], times["import numpy"], "<= 2")
    both = times["import rdiv, typer"]
    ratio("rdiv --help / import rdiv, typer", times["rdiv --help"], both, "<= 1.5")


if __name__ == "__main__":
    main()
