"""What importing rdiv and asking for help cost, in fresh processes.

python benchmarks/bench_import.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import report


def seconds(*arguments: str, repeats: int = 9) -> float:
    """Median wall time of a fresh interpreter."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print one line for each claim; the bare interpreter is taken off imports."""
    bare = seconds("-c", "pass")
    numpy = seconds("-c", "import numpy") - bare
    rdiv = seconds("-c", "import rdiv") - bare
    report("import rdiv / import numpy", rdiv / numpy, "<= 2", rdiv <= 2 * numpy)
    both = seconds("-c", "import rdiv, typer")
    shown = seconds("-m", "rdiv", "--help")
    report("rdiv --help / (import rdiv and typer)", shown / both, "<= 1.5", shown <= 1.5 * both)


if __name__ == "__main__":
    main()
