"""Counts of what was run, for `tools/fuzz.py`."""

from __future__ import annotations

import json
import os

import pytest
from tests.fuzz.promise import RAN


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Append the counts of this run to the file that FUZZ_COUNTS names."""
    if "FUZZ_COUNTS" in os.environ:
        with open(os.environ["FUZZ_COUNTS"], "a", encoding="utf-8") as stream:
            stream.write(json.dumps(RAN) + "\n")
