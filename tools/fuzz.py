"""Run the fuzz suite for as long as asked, each round with other inputs, and count what was run.

python tools/fuzz.py --minutes 10 [--examples 200] [--tests tests/fuzz/test_calls.py]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from secrets import randbelow

SUITE = "tests/fuzz"


def one_round(tests: str, examples: int, counts: Path) -> int:
    """One run of the suite, with a seed of its own."""
    seed = randbelow(2**32)
    environment = {**os.environ, "FUZZ_EXAMPLES": str(examples), "FUZZ_COUNTS": str(counts)}
    command = [sys.executable, "-m", "pytest", tests, "-q", "-n", "0", f"--hypothesis-seed={seed}"]
    print(f"seed {seed}", flush=True)
    return subprocess.run(command, env=environment, check=False).returncode


def counted(counts: Path) -> Counter[str]:
    """The runs and calls of all rounds, one line of JSON per round."""
    total: Counter[str] = Counter()
    for line in counts.read_text().splitlines() if counts.exists() else []:
        total.update(json.loads(line))
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=float(os.environ.get("FUZZ_MINUTES", 10)))
    parser.add_argument("--examples", type=int, default=200, help="inputs per test and round")
    parser.add_argument("--tests", default=SUITE, help="a part of the suite")
    args = parser.parse_args()
    end = time.monotonic() + 60 * args.minutes
    with tempfile.TemporaryDirectory() as folder:
        counts, failed = Path(folder, "counts.jsonl"), 0
        while not failed and time.monotonic() < end:
            failed = one_round(args.tests, args.examples, counts)
        for kind, number in sorted(counted(counts).items()):
            print(f"{number:8d}  {kind}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
