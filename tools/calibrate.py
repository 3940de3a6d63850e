"""Count the pages of the calibration in turn, for as many minutes as there are.

    python tools/calibrate.py [--minutes 120] [--jobs 2]

Every script keeps finished blocks of draws in a journal, so the same command goes on where the last
one was stopped. Short counts come first: a run with few minutes completes most pages.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from math import inf
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "fold_luck": "fold_luck",
    "margins": "calibration_margins",
    "frozen_word": "frozen_word",
    "hard_intervals": "interval_hard_cases",
    "drivers": "calibration_drivers",
    "networks": "calibration_networks",
    "moved": "calibration_moved",
    "refits": "calibration_refits",
    "learners": "calibration_learners",
    "mixed_tables": "calibration_mixed_tables",
    "levels": "calibration_levels",
    "inputs": "calibration_inputs",
    "fixed_pool": "calibration_fixed_pool",
    "in_use": "calibration_in_use",
    "one_fit": "calibration",
}


def main() -> None:
    """Run every script with the minutes that are left; one that fails does not stop the others."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=inf, help="begin no block after these")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    args = parser.parse_args()
    end, failed = time.monotonic() + 60 * args.minutes, []
    for name, page in PAGES.items():
        minutes = (end - time.monotonic()) / 60
        if minutes <= 0:
            print(f"No time is left for {name}.py; {page}.md stays as it is.", flush=True)
        elif not counted(name, page, minutes, args.jobs):
            failed.append(name)
    if failed:
        raise SystemExit(f"not as it should be: {', '.join(failed)}; see above.")


def counted(name: str, page: str, minutes: float, jobs: int) -> bool:
    """Whether a script ends without an error, and without a line that is not as it should be."""
    script, out = f"benchmarks/calibration/{name}.py", f"docs/measured/{page}.md"
    options = ["--out", out, "--jobs", f"{jobs}", "--minutes", f"{minutes:.2f}"]
    return subprocess.run([sys.executable, script, *options], cwd=ROOT, check=False).returncode == 0


if __name__ == "__main__":
    main()
