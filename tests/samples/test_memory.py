"""Free memory, and work that is refused before it starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rdiv.errors import InputError, OutOfMemoryError
from rdiv.samples import memory
from rdiv.samples.memory import check_memory, free_memory


def test_the_smallest_room_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 900 kB\nMemAvailable:  500 kB\n")
    limit, used = tmp_path / "max", tmp_path / "current"
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_LIMITS", [(limit, used)])
    monkeypatch.setattr(memory, "_OWN_PAGES", tmp_path / "absent")
    assert free_memory() == 500 * 1024
    limit.write_text("300000\n")
    used.write_text("100000\n")
    assert free_memory() == 200_000
    limit.write_text("max\n")
    assert free_memory() == 500 * 1024


def test_nothing_is_refused_where_the_system_does_not_tell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("_MEMINFO", "_OWN_PAGES"):
        monkeypatch.setattr(memory, name, tmp_path / "absent")
    monkeypatch.setattr(memory, "_LIMITS", [])
    assert free_memory() is None
    check_memory(1e30, "this", "do less")


def test_what_does_not_fit_is_an_input_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 2 << 30)
    check_memory(1 << 30, "this", "do less")
    with pytest.raises(OutOfMemoryError, match="this needs at least 3 GiB of memory and 2 GiB are"):
        check_memory(3 << 30, "this", "do less")
    assert issubclass(OutOfMemoryError, InputError)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a process are read as Linux has it")
def test_the_limit_of_the_process_counts() -> None:
    code = (
        "import resource; from rdiv.samples.memory import free_memory; "
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)); print(free_memory())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 3 << 30
