"""Shared by long benchmarks: results of single draws, kept in a file as they are found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def kept(path: Path | None, key: str, compute: Callable[[], Any]) -> Any:
    """The result kept under a key, or a new one, which is appended to the file.

    A run that was stopped goes on where it was; a line that was cut off is computed again.
    """
    if path is None:
        return compute()
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if entry["key"] == key:
                return entry["value"]
    value = compute()
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({"key": key, "value": value}) + "\n")
    return value
