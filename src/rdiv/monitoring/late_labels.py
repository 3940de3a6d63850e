"""What a batch brings: new rows, or labels of rows that came before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.monitoring.packing import packed_bits, unpacked
from rdiv.samples.batches import Batch
from rdiv.samples.pool import Pool

if TYPE_CHECKING:
    from rdiv.monitoring.looks import Look

__all__ = ["Arrived", "arrived"]


@dataclass(frozen=True, eq=False)
class Arrived:
    """A batch, and what of it is new.

    Parameters
    ----------
    name : str
    batch : Batch
    new : (m,) integers
        Places, among the labelled rows, of those whose labels are new.
    waiting : (n,) mask
        Rows that still wait for a label.
    late : bool
        Whether the rows came before, and only labels are new.
    inputs, labels : str
        Digests of the rows without labels, and of all labelled rows.
    same_as : str or None
        An earlier batch of other name with the same rows and labels.
    """

    name: str
    batch: Batch
    new: NDArray[np.intp]
    waiting: NDArray[np.bool_]
    late: bool
    inputs: str
    labels: str
    same_as: str | None

    @property
    def labelled(self) -> Pool:
        """The rows whose labels are new."""
        return self.batch.labelled.take(self.new)

    @property
    def packed_waiting(self) -> str | None:
        """Which rows wait, as text; None where none does."""
        return packed_bits(self.waiting) if self.waiting.any() else None


def arrived(batch: Batch, history: Sequence[Look], name: str) -> Arrived:
    """Find what is new in a batch, or refuse it.

    Parameters
    ----------
    batch : Batch
    history : sequence of Look
    name : str
    """
    waiting = np.ones(len(batch), dtype=bool)
    waiting[batch.rows] = False
    everything = np.arange(len(batch.rows))
    inputs = f"{batch.inputs_digest:032x}"
    labels = f"{batch.labels_digest(everything):032x}"
    before = [look for look in history if look.name == name]
    if not before:
        same = next((look.name for look in history
                     if (look.inputs, look.labels) == (inputs, labels)), None)  # fmt: skip
        return Arrived(name, batch, everything, waiting, False, inputs, labels, same)
    last = before[-1]
    if (last.inputs, last.labels) == (inputs, labels):
        raise InputError(
            f"a batch named {name!r} is there already, with the same rows and labels; leave it out."
        )
    known = _known_before(last, len(batch))
    still = known is not None and inputs == last.inputs and not (known & waiting).any()
    if known is None or not still:
        _refuse(name)
    old = known[batch.rows]
    if f"{batch.labels_digest(np.flatnonzero(old)):032x}" != last.labels or old.all():
        _refuse(name)
    new = np.flatnonzero(~old)
    return Arrived(name, batch, new, waiting, True, inputs, labels, None)


def _known_before(look: Look, n: int) -> NDArray[np.bool_] | None:
    """Which rows had a label at an earlier look; None where all had, or the size differs."""
    if look.waiting is None or look.rows != n:
        return None
    bits = np.unpackbits(unpacked(look.waiting, "u1"))[:n]
    return np.asarray(bits == 0)


def _refuse(name: str) -> NoReturn:
    raise InputError(
        f"a batch named {name!r} is there already, and this one differs in more than labels that "
        "have come since; give it another name, or leave it out."
    )
