"""Results: frozen, printable, and the same as text, notebook view, dictionary and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SCHEMA", "TwoSampleResult", "as_json", "html_table", "plain", "short_block"]

SCHEMA = 2
"""Version of the documents that `to_dict` returns."""


@dataclass(frozen=True, eq=False, repr=False)
class TwoSampleResult:
    """The result of a two-sample test, with all that is needed to check or repeat it.

    Parameters
    ----------
    statistic : float
        The discrepancy, in its own units (for R-divergence those of the model's loss).
    ranked : float
        The number that was ranked among the null values, for example the studentised gap.
    null_distribution : (B,) array
        The values of `ranked` under permutation; fewer than `n_resamples` if the test stopped
        early.
    pvalue, alpha : float
    n_p, n_q : int
        Rows given in each sample.
    n_resamples : int
        Permutations requested.
    discrepancy, model : str
        As text; `model` is None for a test without a model.
    seed : int
    risk_p, risk_q : float, optional
        Mean losses of the samples.
    notes : mapping

    Examples
    --------
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + 2
    >>> print(rdiv.two_sample_test(p, q, "energy", rng=0))
    energy = 2.627, p = 0.001: different at level 0.05
    50 + 50 rows, 999 permutations, seed 0
    """

    statistic: float
    ranked: float
    null_distribution: NDArray[np.float64]
    pvalue: float
    alpha: float
    n_p: int
    n_q: int
    n_resamples: int
    discrepancy: str
    model: str | None
    seed: int
    risk_p: float | None = None
    risk_q: float | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rejected(self) -> bool:
        """Whether the samples were found to differ: ``pvalue <= alpha``."""
        return self.pvalue <= self.alpha

    def __str__(self) -> str:
        finding = "different" if self.rejected else "no difference found"
        lines = [
            f"{self.discrepancy} = {self.statistic:.4g}, p = {self.pvalue:.3g}: "
            f"{finding} at level {self.alpha:g}"
        ]
        if self.model is not None:
            risks = ""
            if self.risk_p is not None and self.risk_q is not None:
                risks = f", mean loss {self.risk_p:.4g} on p and {self.risk_q:.4g} on q"
            lines.append(f"model {self.model}{risks}")
        parts = self.notes.get("pvalues", {})
        if parts:
            lines.append("parts: " + ", ".join(f"{k} p = {v:.3g}" for k, v in parts.items()))
        ran = len(self.null_distribution)
        draws = f"{ran}" if ran == self.n_resamples else f"{ran} of {self.n_resamples}"
        lines.append(f"{self.n_p} + {self.n_q} rows, {draws} permutations, seed {self.seed}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        headline, *lines = str(self).splitlines()
        return short_block("Two-sample test", headline, lines)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The null distribution, and where the observed number lies in it.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Drawn on new ones without it.
        """
        from rdiv.pictures import new_axes

        ax = new_axes(6.4, 3.2) if ax is None else ax
        ax.hist(self.null_distribution, bins=40, color="0.75")
        ax.axvline(self.ranked, color="C3", linewidth=2)
        ax.set_yticks([])
        ax.set_xlabel(f"{self.discrepancy}: what was ranked; line: observed")
        ax.set_title(f"p = {self.pvalue:.3g}, {len(self.null_distribution)} permutations")
        return ax

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python values; NaN and infinity become None."""
        return {"schema": SCHEMA, **self.fields()}

    def fields(self) -> dict[str, Any]:
        """The fields alone, for a document that holds several results."""
        document: dict[str, Any] = plain(
            {
                "statistic": self.statistic,
                "ranked": self.ranked,
                "pvalue": self.pvalue,
                "alpha": self.alpha,
                "rejected": self.rejected,
                "n_p": self.n_p,
                "n_q": self.n_q,
                "n_resamples": self.n_resamples,
                "discrepancy": self.discrepancy,
                "model": self.model,
                "seed": self.seed,
                "risk_p": self.risk_p,
                "risk_q": self.risk_q,
                "notes": self.notes,
                "null_distribution": self.null_distribution,
            }
        )
        return document

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return as_json(self.to_dict())


def as_json(document: Mapping[str, Any]) -> str:
    """A document as JSON text; the same document gives the same bytes.

    Examples
    --------
    >>> print(as_json({"schema": 1}))
    {
      "schema": 1
    }
    """
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def plain(value: Any) -> Any:
    """Arrays, numpy scalars and mappings as types that JSON has; NaN and infinity as None.

    Examples
    --------
    >>> print(plain({"a": np.array([1.0, np.nan]), "b": np.int64(2)}))
    {'a': [1.0, None], 'b': 2}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [
            plain(item) for item in (value.tolist() if isinstance(value, np.ndarray) else value)
        ]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


_BORDERS = {"worse": "#d1495b", "better": "#2a9d6f", "hidden": "#b8860b", "unclear": "#b8860b"}
_CELL = 'style="text-align:left;vertical-align:top;padding:.15em 1em .15em 0;border:0"'


def short_block(label: str, headline: str, lines: Iterable[str], *, tone: str = "none") -> str:
    """A label, a sentence and lines ``label: value`` as HTML in the colours of the notebook.

    Parameters
    ----------
    label, headline : str
    lines : iterable of str
    tone : str
        Decides the colour of the border; its last word is "worse", "better", "hidden" or another.

    Examples
    --------
    >>> print("<th scope='row'" in short_block("Test", "p < 0.05", ["seed: 0"]))
    True
    """
    body = "".join(
        f"<tr><th scope='row' {_CELL}>{escape(name)}</th><td {_CELL}>{escape(value)}</td></tr>"
        if value
        else f"<tr><td colspan='2' {_CELL}>{escape(name)}</td></tr>"
        for name, _, value in (line.partition(": ") for line in lines)
    )
    border = _BORDERS.get(tone.split()[-1], "#7a8794")
    return (
        f'<div style="border-left:.3em solid {border};padding:.2em 0 .2em 1em;max-width:48em">'
        f'<p style="margin:0;font-size:.9em">{escape(label)}</p>'
        f'<p style="margin:.2em 0 .6em;font-size:1.15em;font-weight:600">{escape(headline)}</p>'
        f'<table style="border-collapse:collapse">{body}</table></div>'
    )


def html_table(columns: Mapping[str, Sequence[Any]]) -> str:
    """Columns as an HTML table for a notebook; numbers with four digits.

    Examples
    --------
    >>> print(html_table({"test": ["<r>"], "rate": [1 / 3]}).count("&lt;r&gt;"))
    1
    """
    head = "".join(f"<th {_CELL}>{escape(name)}</th>" for name in columns)
    rows = (
        "".join(f"<td {_CELL}>{escape(_cell(value))}</td>" for value in values)
        for values in zip(*columns.values(), strict=True)
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<table style="border-collapse:collapse"><tr>{head}</tr>{body}</table>'


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
