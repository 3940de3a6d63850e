"""Run the tests that train under every instruction set of this CPU, with one and with two threads.

The same sum rounds differently under SSE, AVX2 and AVX-512, and after many updates a difference in
the last digit has become another network. Every library chooses its kernels by the CPU it finds,
and each has a variable that makes it choose those of an older one.

    python tools/instruction_sets.py [options of pytest]
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

VARIABLES = (
    "ATEN_CPU_CAPABILITY",  # torch's own kernels
    "ONEDNN_MAX_CPU_ISA",  # convolutions in torch
    "MKL_ENABLE_INSTRUCTIONS",  # matrix products in torch
    "OPENBLAS_CORETYPE",  # matrix products in numpy and scipy
    "NPY_DISABLE_CPU_FEATURES",  # exp, log and the like in numpy
)
SETTINGS = {  # what /proc/cpuinfo calls the instruction set, and the values of the variables
    "default": ("sse4_2", "default SSE41 SSE4_2 Nehalem X86_V3,X86_V4,AVX512_ICL,AVX512_SPR"),
    "avx2": ("avx2", "avx2 AVX2 AVX2 Haswell X86_V4,AVX512_ICL,AVX512_SPR"),
    "avx512": ("avx512f", "avx512 AVX512_CORE AVX512 SkylakeX AVX512_SPR"),
}
PATIENT = {
    "OMP_WAIT_POLICY": "passive",
    "OPENBLAS_THREAD_TIMEOUT": "4",
}  # idle threads must not spin
ROOT = Path(__file__).resolve().parents[1]


def flags() -> set[str]:
    """What this CPU can do; nothing where the system does not say so in Linux's way."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    return {flag for line in lines if line.startswith("flags") for flag in line.split()}


def settings() -> dict[str, dict[str, str]]:
    """Variables for each instruction set that this CPU has; none are set on other systems."""
    known = flags()
    found = {
        name: dict(zip(VARIABLES, values.split(), strict=True))
        for name, (flag, values) in SETTINGS.items()
        if flag in known
    }
    for name in SETTINGS.keys() - found.keys():
        print(f"== {name}: skipped, this CPU lacks it")
    return found or {"as it is": {}}


def run(variables: dict[str, str], threads: int, options: list[str]) -> int:
    """The exit code of pytest."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2"]
    command += ["-m", "trains and not slow", *options]
    environment = os.environ | variables | PATIENT | {"RDIV_TEST_THREADS": str(threads)}
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


def main(options: list[str]) -> int:
    outcomes = []
    for name, variables in settings().items():
        for threads in (1, 2):
            title = f"{name}, {threads} thread{'s' * (threads > 1)}"
            print(f"== {title}", flush=True)
            start = time.monotonic()
            code = run(variables, threads, options)
            outcomes.append(code)
            spent = time.monotonic() - start
            print(f"== {title}: {'failed' if code else 'passed'} in {spent:.0f} s", flush=True)
    return int(any(outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
