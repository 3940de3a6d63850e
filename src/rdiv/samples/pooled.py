"""Two samples as one pool, and what was taken off it: origin, places, seed, streams."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.row_blocks import cut, gathered
from rdiv.samples.arguments import check_rng
from rdiv.samples.fitting_rows import pool_rows_to_fit
from rdiv.samples.grouping import FEWEST_UNITS
from rdiv.samples.partitioned import PartitionedRows
from rdiv.samples.pool import Pool, whole_codes
from rdiv.samples.row_keys import Keys, digest, sorted_digest, sorted_places

__all__ = [
    "Entropy",
    "LabelsApart",
    "LookedAt",
    "PlacesInFiles",
    "PooledSamples",
    "ReferenceKeys",
    "Stage",
    "canonical_order",
    "resolve_seed",
    "shuffled",
    "stage_stream",
]

Stage = Literal["shuffle", "halves", "learn", "fit", "masks", "drivers", "planning"]
_STAGES: tuple[Stage, ...] = (
    "shuffle", "halves", "learn", "fit", "masks", "drivers", "planning",
)  # fmt: skip

Entropy = tuple[int, ...]

_LOOKED_UP = 1 << 20


@dataclass(frozen=True, eq=False)
class LabelsApart:
    """Targets and logged losses of the reference, apart from a pool that is blind to them.

    Current rows have none. Keys, order, streams and part A are made without them, so that nothing
    in the pool tells a reference row from a current one.

    Parameters
    ----------
    y : (n,) array, optional
        Class codes or floats; those of current rows mean nothing.
    loss : (n,) array, optional
        Losses of a model in use; those of current rows mean nothing.
    keys : (n, 2) array, optional
        Hash of every reference row with its target and loss, 0 for current rows: only the order of
        reference rows with the same inputs depends on it. None for rows in partitions.
    """

    y: NDArray[Any] | None
    loss: NDArray[np.float64] | None
    keys: Keys | None

    def take(self, rows: NDArray[np.intp]) -> LabelsApart:
        """Those of some rows."""

        def pick(values: Any) -> Any:
            return None if values is None else gathered(values, rows)

        return LabelsApart(pick(self.y), pick(self.loss), pick(self.keys))


@dataclass(frozen=True, eq=False)
class PooledSamples:
    """Two samples as one pool, and what was taken off: origin, places in the files, seed.

    Parameters
    ----------
    pool : Pool
    is_p : (n,) mask
        Which rows of the pool came from p.
    places : (n,) integers
        Each row's place in the sample that it came from.
    seed : int
    entropy : tuple of int
        The seed and the digest of the pool's content, from which every stage has its own stream.
    input_keys : (n, 2) array or None
        Hash of every row without its target and its loss; None for rows that are, or were, in
        partitions.
    reference : ReferenceKeys, optional
        What stands for the keys of p then.
    apart : LabelsApart, optional
        Where no current row has a label: the targets of the reference, which the pool lacks.

    Examples
    --------
    >>> from rdiv.samples import pool_samples
    >>> pooled = pool_samples(np.zeros((3, 2)), np.ones((4, 2)), rng=0)
    >>> print(len(pooled.pool), pooled.is_p.sum(), pooled.seed)
    7 3 0
    """

    pool: Pool
    is_p: NDArray[np.bool_]
    places: Any
    seed: int
    entropy: Entropy
    input_keys: Any
    reference: ReferenceKeys | None = None
    apart: LabelsApart | None = None

    def stream(self, stage: Stage) -> np.random.Generator:
        """A fresh generator for one stage; more draws in one stage never change another."""
        return stage_stream(self.entropy, stage)

    def part(self, rows: NDArray[np.intp], entropy: Entropy | None = None) -> PooledSamples:
        """Some rows of the pool, with the streams of the whole unless others are given."""
        pool = self.pool.take(rows)
        return replace(
            self,
            pool=pool,
            is_p=gathered(self.is_p, rows),
            places=self._places_of(pool, rows),
            input_keys=None if self.input_keys is None else self.input_keys[rows],
            entropy=self.entropy if entropy is None else entropy,
            reference=None,
            apart=None if self.apart is None else self.apart.take(rows),
        )

    def _places_of(self, pool: Pool, rows: NDArray[np.intp]) -> Any:
        """Places of some rows; those of rows in partitions are held once, by the pool of them."""
        if isinstance(pool.rows, PartitionedRows):
            return PlacesInFiles(pool.rows.picked, self.places.n_p)
        return self.places[rows]

    def with_labels(self, rows: NDArray[np.intp], *, anew: bool = False) -> Pool:
        """Reference rows with their targets and losses, where these are kept apart.

        Parameters
        ----------
        rows : (m,) integers
        anew : bool
            Whether the rows get a preparation of their own.
        """
        pool = self.pool.anew(rows) if anew else self.pool.take(rows)
        if self.apart is None:
            return pool
        if not self.is_p[rows].all():
            raise InputError("only reference rows have labels here, got current rows too.")
        own = self.apart.take(rows)
        return replace(pool, y=own.y, loss=own.loss)

    def reference_order(self) -> NDArray[np.intp]:
        """Places of the rows of p, in an order that depends on their content alone."""
        if self.reference is not None:
            return self.reference.order
        rows = np.flatnonzero(self.is_p)
        apart = None if self.apart is None else self.apart.keys
        known = self.pool.keys_of(rows) if apart is None else apart[rows]
        rows = rows[sorted_places(known)]
        return rows[sorted_places(self.own_keys(rows))]

    def looked_at(self, most: int) -> LookedAt:
        """At most so many rows, chosen by their keys, in memory.

        Examples
        --------
        >>> from rdiv.samples import pool_samples
        >>> pooled = pool_samples([[float(k)] for k in range(9)], [[0.5], [1.5], [2.5]], rng=0)
        >>> print(len(pooled.looked_at(8).rows), pooled.looked_at(12).whole)
        8 True
        """
        n = len(self.pool)
        if n <= most:
            return LookedAt(np.arange(n), self.at_hand(), n)
        rows = pool_rows_to_fit(self.pool, most)
        in_p = int(self.is_p[rows].sum())
        if min(in_p, most - in_p) < FEWEST_UNITS:
            raise InputError(
                f"of {most} rows that are looked at, {in_p} are of the reference and "
                f"{most - in_p} of current, too few of one of them; raise sample_rows, or compare "
                "samples of more even sizes."
            )
        return LookedAt(rows, self.part(rows).at_hand(), n)

    def own_keys(self, rows: NDArray[np.intp]) -> Keys:
        """Hash of some rows without their targets and losses."""
        keys: Keys = self.input_keys[rows]
        return keys

    def at_hand(self) -> PooledSamples:
        """The same with the rows in memory, where they are in partitions."""
        if not self.pool.in_partitions:
            return self
        apart = self.apart
        apart = None if apart is None else replace(apart, y=whole_codes(apart.y))
        places = np.asarray(self.places)
        return replace(self, pool=self.pool.at_hand(), places=places, apart=apart)

    def reference_stream(self) -> np.random.Generator:
        """Generator that depends on the seed and the rows of p alone, without their targets."""
        known = (
            sorted_digest(self.own_keys(np.flatnonzero(self.is_p)))
            if self.reference is None
            else self.reference.known
        )
        return np.random.default_rng(np.random.SeedSequence((self.seed, known)))


@dataclass(frozen=True, eq=False)
class LookedAt:
    """Rows of a pool that all is asked of which needs them in memory together.

    Parameters
    ----------
    rows : (m,) integers
        Their places in the pool, ascending.
    samples : PooledSamples
        These rows.
    total : int
        Rows of the pool.
    """

    rows: NDArray[np.intp]
    samples: PooledSamples
    total: int

    @property
    def whole(self) -> bool:
        """Whether they are all rows."""
        return len(self.rows) == self.total

    def inside(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Of some rows of the pool: which are looked at, and their places among those.

        Parameters
        ----------
        rows : (k,) integers
            Places in the pool, ascending.
        """
        which, places = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
        for block in cut(len(rows), _LOOKED_UP):
            own = rows[block]
            at = np.minimum(np.searchsorted(self.rows, own), len(self.rows) - 1)
            found = np.flatnonzero(self.rows[at] == own)
            which.append(block.start + found)
            places.append(at[found])
        return np.concatenate(which), np.concatenate(places)


def resolve_seed(rng: int | np.integer | np.random.Generator | None) -> int:
    """The seed of a run: the one given, one drawn from a Generator, or a fresh one.

    Parameters
    ----------
    rng : int, Generator or None

    Examples
    --------
    >>> print(resolve_seed(7))
    7
    """
    if rng is None:
        return int(np.random.default_rng().integers(2**53))
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**53))
    check_rng(rng)
    return int(rng)


def stage_stream(entropy: Entropy, stage: Stage) -> np.random.Generator:
    children = np.random.SeedSequence(entropy).spawn(len(_STAGES))
    return np.random.default_rng(children[_STAGES.index(stage)])


def canonical_order(
    keys: Keys, seed: int, beside: Keys | None = None
) -> tuple[NDArray[np.intp], Entropy]:
    """The order of rows that forgets their files, and the entropy of the run.

    `beside` orders rows whose keys are the same, which get the same numbers in any case.
    """
    if beside is None:
        return shuffled(sorted_places(keys), keys, seed)
    minor = sorted_places(beside)
    return shuffled(minor[sorted_places(keys[minor])], keys, seed)


def shuffled(order: NDArray[np.intp], keys: Keys, seed: int) -> tuple[NDArray[np.intp], Entropy]:
    """Sorted places of keys, brought into the order of the pool, and the entropy of the run."""
    entropy = (seed, digest(keys, order))
    stage_stream(entropy, "shuffle").shuffle(order)
    return order, entropy


@dataclass(frozen=True, eq=False)
class ReferenceKeys:
    """What part A is drawn by, of a reference whose keys without targets are not kept.

    Parameters
    ----------
    order : (n_p,) integers
        Places of the reference's rows in the pool, in the order of their content.
    known : int
        Digest of their keys without targets and losses.
    """

    order: NDArray[Any]
    known: int

    @staticmethod
    def of(own: Keys, keys: Keys, in_files: NDArray[Any], is_p: NDArray[np.bool_]) -> ReferenceKeys:
        """From the keys of rows in the order of their files, and their places there."""
        rows = np.flatnonzero(is_p).astype(in_files.dtype)
        for known in (keys, own):
            rows = gathered(rows, sorted_places(known, gathered(in_files, rows)))
        return ReferenceKeys(rows, sorted_digest(own))


@dataclass(frozen=True, eq=False)
class PlacesInFiles:
    """Each row's place in its own sample, from its place in both, one below the other."""

    in_files: NDArray[Any]
    n_p: int

    def __getitem__(self, rows: NDArray[np.intp]) -> PlacesInFiles:
        return PlacesInFiles(gathered(self.in_files, rows), self.n_p)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        del copy
        found = np.where(self.in_files < self.n_p, self.in_files, self.in_files - self.n_p)
        return found.astype(dtype or np.intp)
