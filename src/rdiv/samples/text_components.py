"""Free text as a few numbers: hashed character n-grams and their largest components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rdiv.row_blocks import cut

__all__ = ["COMPONENTS", "TextComponents", "fit_text", "ngram_counts"]

COMPONENTS = 12
"""Numbers that a text becomes."""

FEATURES = 1 << 12
"""Buckets that n-grams are hashed to."""

_SIZES = (2, 3)
_LONGEST = 400  # characters of a text that are read
_AT_ONCE = 10_000  # texts whose n-grams are in memory together
_FIT_TEXTS = 20_000  # distinct texts that the components are learned from
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)

Floats = NDArray[np.float64]


def ngram_counts(texts: Sequence[str]) -> sparse.csr_array:
    """Root counts of hashed pairs and triples of characters, rows of length 1, ``(n, FEATURES)``.

    Letters count as lower case, and a space stands at both ends of a text.

    Examples
    --------
    >>> counts = ngram_counts(["abab", "ABAB", ""])
    >>> print(counts.shape, bool((counts[[0]] != counts[[1]]).nnz == 0))
    (3, 4096) True
    """
    padded = [f" {text[:_LONGEST].lower()} " for text in texts]
    joined = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    lengths = np.array([len(text) for text in padded], dtype=np.intp)
    row = np.repeat(np.arange(len(padded)), lengths)
    rows, buckets = [], []
    for size in _SIZES:
        if len(joined) < size:
            continue
        words = np.full(len(joined) - size + 1, size, dtype=np.uint64)
        for j in range(size):
            words = (words + joined[j : len(joined) - size + 1 + j]) * _MULTIPLIER
            words ^= words >> np.uint64(29)
        within = row[: len(words)] == row[size - 1 :]
        rows.append(row[: len(words)][within])
        buckets.append((words[within] >> np.uint64(52)).astype(np.intp))
    places = np.concatenate([np.zeros(0, np.intp), *rows])
    columns = np.concatenate([np.zeros(0, np.intp), *buckets])
    counts = sparse.coo_array(
        (np.ones(len(places)), (places, columns)), shape=(len(padded), FEATURES)
    ).tocsr()
    counts.sum_duplicates()
    counts.data = np.sqrt(counts.data)
    lengths_of_rows = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    counts.data /= np.repeat(np.maximum(lengths_of_rows, 1e-300), np.diff(counts.indptr))
    return counts


@dataclass(frozen=True, eq=False)
class TextComponents:
    """The directions in which texts differ most.

    Parameters
    ----------
    centre : (k,) array
    directions : (FEATURES, k) array
        Scaled so that all components together have variance 1 over the texts fitted on.
    """

    centre: Floats
    directions: Floats

    @property
    def width(self) -> int:
        """How many numbers a text becomes."""
        return len(self.centre)

    def apply(self, texts: Sequence[str]) -> Floats:
        """Numbers of every text, ``(n, k)``."""
        numbers = np.zeros((len(texts), self.width))
        for block in cut(len(texts), _AT_ONCE):
            numbers[block] = ngram_counts(texts[block]) @ self.directions
        return numbers - self.centre


def fit_text(texts: Sequence[str], counts: NDArray[np.integer]) -> TextComponents:
    """Learn the components of distinct texts.

    Parameters
    ----------
    texts : sequence of str
        Distinct texts, in an order that depends on nothing but themselves.
    counts : (n,) integers
        How often each of them occurs.

    Notes
    -----
    N-grams are weighted by how few of the texts have them. The components come from a randomised
    truncated singular value decomposition with a fixed seed, so a text has the same numbers in
    every run. Of more than 20 000 distinct texts, 20 000 are chosen evenly in the order given.

    Examples
    --------
    >>> fitted = fit_text(["a cat", "a dog", "the cat"], np.ones(3, dtype=int))
    >>> print(fitted.width, fitted.apply(["a cat", "new"]).shape)
    2 (2, 2)
    """
    from sklearn.decomposition import TruncatedSVD

    chosen = np.unique(np.linspace(0, len(texts) - 1, _FIT_TEXTS).astype(np.intp))
    weights = counts[chosen] / counts[chosen].sum()
    grams = ngram_counts([texts[place] for place in chosen])
    spread = sparse.csr_array((weights @ (grams > 0)).reshape(1, -1)).toarray().ravel()
    rarity = np.log((1 + len(chosen)) / (1 + len(chosen) * spread)) + 1
    k = min(COMPONENTS, len(chosen) - 1)
    if k < 1:
        return TextComponents(np.zeros(0), np.zeros((FEATURES, 0)))
    weighted = sparse.diags_array(np.sqrt(weights)) @ grams @ sparse.diags_array(rarity)
    # One more component than is kept: the first is mostly the mean of all texts.
    svd = TruncatedSVD(min(k + 1, len(chosen)), n_iter=4, random_state=0).fit(weighted.tocsr())
    directions = rarity[:, None] * svd.components_.T
    scores = np.asarray(grams @ directions)
    centre = weights @ scores
    variances = weights @ (scores - centre) ** 2
    kept = np.sort(np.argsort(-variances, kind="stable")[:k])
    kept = kept[variances[kept] > 1e-12 * max(float(variances.max()), 1e-300)]
    scale = float(np.sqrt(variances[kept].sum())) or 1.0
    return TextComponents(centre[kept] / scale, directions[:, kept] / scale)
