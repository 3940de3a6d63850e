"""Running the cases of tools/golden.py: command lines and calls in, plain values out."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tools.golden_calls import python_calls
from tools.golden_commands import command_lines
from tools.golden_data import write_files
from tools.golden_rules import WORDS, Kept, digest

Case = dict[str, Any]


def all_cases() -> dict[str, dict[str, Case]]:
    """Every case by section and name, run in a folder of its own."""
    with working_folder():
        lines = [(line, kept) for kept, some in command_lines().items() for line in some]
        calls = [(*call, kept) for kept, some in python_calls().items() for call in some.items()]
        total = len(lines) + len(calls)
        found: dict[str, dict[str, Case]] = {"commands": {}, "calls": {}}
        for place, (line, kept) in enumerate(lines, 1):
            progress(place, total, f"rdiv {line}")
            found["commands"][f"rdiv {line}"] = run_command(line, kept)
        for place, (name, call, kept) in enumerate(calls, 1 + len(lines)):
            progress(place, total, name)
            found["calls"][name] = run_call(call, kept)
        progress(total, total, "")
    return found


@contextmanager
def working_folder() -> Iterator[None]:
    """A temporary current folder with the files, and no setting of the user's."""
    before = os.getcwd()
    for name in ("RDIV_DATA", "RDIV_DATA_ORIGIN", "RDIV_TRACEBACK"):
        os.environ.pop(name, None)
    os.environ["COLUMNS"] = "100"
    with TemporaryDirectory() as folder:
        write_files(Path(folder))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def progress(place: int, total: int, name: str) -> None:
    """Show where the run stands, on a terminal only."""
    if sys.stderr.isatty():
        end = "\n" if place == total and not name else ""
        print(f"\r\033[K{place}/{total} {name[:70]}", end=end, file=sys.stderr, flush=True)


def run_command(line: str, kept: Kept) -> Case:
    """A command line: its exit code, its document, the files it wrote, what it said."""
    from rdiv.cli import main

    typed, _, given = line.partition(" < ")
    before = set(os.listdir())
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), standard_input(given):
        code = main(shlex.split(typed))
    out.seek(0)
    case: Case = {"kept": kept, "exit": code}
    said = {"stdout": out.read(), "stderr": err.getvalue().replace(os.getcwd(), "FOLDER")}
    if "--json -" in typed and code in (0, 1):
        case["result"] = json.loads(said.pop("stdout"))
    written = {name: Path(name) for name in sorted(set(os.listdir()) - before)}
    for name, path in written.items():
        if name == "result.json":
            case["result"] = json.loads(path.read_text(encoding="utf-8"))
        elif path.is_file():
            place = said if path.suffix == ".html" else case
            place[name] = digest(path.read_text(encoding="utf-8"))
        if path.is_file():
            path.unlink()
    return {**case, WORDS: said}


@contextmanager
def standard_input(name: str) -> Iterator[None]:
    """A file, or nothing, as standard input."""
    data = Path(name).read_bytes() if name else b""
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
    try:
        yield
    finally:
        sys.stdin = before


def run_call(call: Callable[[], Any], kept: Kept) -> Case:
    """A Python call: what it gave, or the class of what it raised."""
    try:
        found = call()
    except Exception as error:
        return {"kept": kept, "raised": type(error).__name__, WORDS: {"error": str(error)}}
    case = {"kept": kept, "type": type(found).__name__, "result": plain(found)}
    has_text = type(found).__module__.split(".")[0] == "rdiv" and not hasattr(found, "rows")
    return {**case, WORDS: {"text": str(found)}} if has_text else case


def plain(value: Any) -> Any:
    """A result as what JSON knows; arrays become one list of numbers and their shape."""
    if hasattr(value, "to_dict") and not hasattr(value, "write_csv"):
        return plain(value.to_dict())
    if hasattr(value, "study"):  # a study has times, which no two runs share
        table = {name: column for name, column in value.table().items() if name != "seconds"}
        rows = [{k: v for k, v in row.items() if k != "seconds"} for row in value.rows]
        return plain({"study": value.study.to_dict(), "table": table, "rows": rows})
    if hasattr(value, "write_csv"):
        kinds = [str(kind) for kind in value.dtypes]
        return {"types": kinds, **plain(value.to_dict(as_series=False))}
    if isinstance(value, np.ndarray):
        kind = {"type": str(value.dtype), "shape": list(value.shape)}
        return {**kind, "values": value.ravel().tolist()}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
