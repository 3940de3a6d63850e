"""`import rdiv` stays light: heavy libraries load when something that needs them is called."""

import subprocess
import sys

HEAVY = {
    "matplotlib",
    "numba",
    "onnxruntime",
    "pandas",
    "polars",
    "pyarrow",
    "scipy",
    "sklearn",
    "torch",
    "typer",
}


def test_import_loads_no_heavy_library() -> None:
    code = "import sys, rdiv; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(run.stdout.split())
