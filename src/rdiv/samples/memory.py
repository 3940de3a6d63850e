"""How much memory is left, and a refusal before work that cannot fit into it."""

from __future__ import annotations

import os
from pathlib import Path

from rdiv.errors import OutOfMemoryError

__all__ = ["as_text", "check_memory", "free_memory"]

_MEMINFO = Path("/proc/meminfo")
_OWN_PAGES = Path("/proc/self/statm")
_LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)
_UNLIMITED = 1 << 60


def free_memory() -> int | None:
    """Bytes that this process can still get, as far as the system tells; None where it does not.

    The smallest of what is free on the machine, in the container and within the limit of the
    process (``ulimit -v``).

    Examples
    --------
    >>> free = free_memory()
    >>> print(free is None or free > 0)
    True
    """
    known = [room for room in (_free_on_machine(), _free_in_group(), _free_of_own()) if room]
    return min(known, default=None)


def check_memory(needed: float, what: str, advice: str) -> None:
    """Refuse work for which there is not enough memory.

    Parameters
    ----------
    needed : float
        Bytes that the work needs at least.
    what : str
        What needs them.
    advice : str
        What to do instead, without a full stop.

    Examples
    --------
    >>> check_memory(1 << 55, "a table of that size", "read fewer columns")
    Traceback (most recent call last):
    ...
    rdiv.errors.OutOfMemoryError: a table of that size needs at least 33554432 GiB of memory ...
    """
    free = free_memory()
    if free is not None and needed > free:
        raise OutOfMemoryError(
            f"{what} needs at least {as_text(needed)} of memory and {as_text(free)} are free; "
            f"{advice}."
        )


def as_text(size: float) -> str:
    """A number of bytes for a sentence.

    Examples
    --------
    >>> print(as_text(3.5 * 2**30), as_text(5e6), as_text(700))
    3.5 GiB 5 MB 700 bytes
    """
    if size >= 1 << 29:
        return f"{size / 2**30:.4g} GiB" if size < 1 << 43 else f"{size / 2**30:.0f} GiB"
    return f"{size / 1e6:.3g} MB" if size >= 1e5 else f"{size:.0f} bytes"


def _free_on_machine() -> int | None:
    try:
        lines = _MEMINFO.read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else None


def _free_in_group() -> int | None:
    for limit, used in _LIMITS:
        try:
            most, now = limit.read_text().strip(), int(used.read_text())
        except (OSError, ValueError):
            continue
        if most != "max" and int(most) < _UNLIMITED:
            return max(int(most) - now, 1)
    return None


def _free_of_own() -> int | None:
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        pages = int(_OWN_PAGES.read_text().split()[0])
    except (ImportError, OSError, ValueError):
        return None
    if most == resource.RLIM_INFINITY:
        return None
    return max(most - pages * os.sysconf("SC_PAGE_SIZE"), 1)
