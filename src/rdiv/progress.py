"""Progress of long work: one line on the error stream of a terminal, erased at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from time import monotonic

__all__ = ["counting", "progress_sent_to", "reading_rows", "telling", "time_left"]

Listener = Callable[[str], None]

_QUIET = 2.0  # seconds before the first message: most work is done by then
_EVERY = 0.2

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_line: ContextVar[_Line | None] = ContextVar("line", default=None)


@contextmanager
def progress_sent_to(listener: Listener) -> Iterator[None]:
    """Send every progress message inside the block to a function instead of a terminal.

    An empty message says that the work is done.

    Examples
    --------
    >>> said = []
    >>> with progress_sent_to(said.append), counting("epoch", 2) as at:
    ...     at(1)
    >>> print(said)
    ['epoch 1 of 2', '']
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Give a function that shows which of so many steps is running.

    Nested counts share a line: ``fold 2 of 5, epoch 7 of 20``. Nothing is shown in a worker
    process, in a thread other than the main one, or when the error stream is not a terminal.

    Examples
    --------
    >>> with counting("fold", 5) as at:
    ...     at(1)
    """
    with telling() as say:
        yield lambda step: say(f"{what} {step} of {total}")


@contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """Give a function that shows what is being done, in the same line as `counting`.

    Examples
    --------
    >>> with telling() as say:
    ...     say("row 5 of 10, 3 s left")
    """
    outer = _line.get()
    line = outer or _Line()
    depth = len(line.parts)
    line.parts.append("")
    token = _line.set(line)

    def say(text: str) -> None:
        line.parts[depth] = text
        line.refresh()

    try:
        yield say
    finally:
        del line.parts[depth:]
        _line.reset(token)
        if outer is None:
            line.close()


@contextmanager
def reading_rows(total: int, what: str = "row") -> Iterator[Callable[[int], None]]:
    """Give a function that is told how many rows were read, and shows how long the rest takes.

    Examples
    --------
    >>> with reading_rows(2) as at:
    ...     at(1)
    """
    done, start = 0, monotonic()
    with telling() as say:

        def at(rows: int) -> None:
            nonlocal done
            done = min(done + rows, total)
            say(f"{what} {done} of {total}{time_left(done, total, monotonic() - start)}")

        yield at


def time_left(done: int, total: int, seconds: float) -> str:
    """How long the rest takes at the rate so far, once that is known.

    Examples
    --------
    >>> print(time_left(25, 100, 10.0))
    , 30 s left
    """
    if seconds < 2 or not done:
        return ""
    left = seconds * (total - done) / done
    return f", {left / 60:.0f} min left" if left >= 90 else f", {left:.0f} s left"


class _Line:
    """The current progress line, and the function that shows it."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        heard = _listener.get()
        self.tell = heard or (_write if _on_terminal() else None)
        self.next = monotonic() + (_QUIET if heard is None else 0.0)
        self.said = False

    def refresh(self) -> None:
        if self.tell is None or monotonic() < self.next:
            return
        self.tell(", ".join(part for part in self.parts if part))
        self.said, self.next = True, monotonic() + _EVERY

    def close(self) -> None:
        if self.tell is not None and self.said:
            self.tell("")


def _on_terminal() -> bool:
    from multiprocessing import current_process
    from threading import current_thread, main_thread

    if current_process().name != "MainProcess" or current_thread() is not main_thread():
        return False
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # none, or closed
        return False


def _write(text: str) -> None:
    """Write over the line of a terminal."""
    from shutil import get_terminal_size

    with suppress(OSError, ValueError):
        sys.stderr.write(f"\r{text[: get_terminal_size().columns - 1]}\x1b[K")
        sys.stderr.flush()
