"""Pages from templates that escape all inserted text, and the short form for a notebook."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from rdiv.comparison.sentences import badge, tone
from rdiv.errors import MissingExtraError
from rdiv.report.comparison_view import comparison_view
from rdiv.report.levels_view import many_view
from rdiv.report.provenance import Provenance, versions
from rdiv.report.terms import MEANINGS
from rdiv.results import short_block

if TYPE_CHECKING:
    from rdiv.comparison.levels_result import Comparisons
    from rdiv.comparison.result import Comparison

__all__ = ["comparison_page", "many_page", "render", "short_form"]


def comparison_page(
    found: Comparison, *, provenance: Provenance | None = None, rows: bool = True
) -> str:
    """A comparison as one self-contained HTML page: no network, no script, no second file.

    Parameters
    ----------
    found : Comparison
    provenance : Provenance, optional
        How the page was made; by default the versions alone.
    rows : bool
        Whether to list the rows that carry most of the gap, the only raw data on the page.

    Examples
    --------
    >>> import numpy as np
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> found = rdiv.compare(rng.normal(size=(40, 2)), rng.normal(size=(40, 2)), rng=0)
    >>> page = rdiv.report.comparison_page(found)
    >>> print(page.startswith("<!doctype html>"), "No shift found" in page)
    True True
    """
    provenance = Provenance(versions=versions()) if provenance is None else provenance
    view = comparison_view(found, provenance, rows=rows)
    return render("comparison.html", view, rows=rows)


def many_page(
    found: Comparisons, *, provenance: Provenance | None = None, rows: bool = True
) -> str:
    """Many comparisons as one page: all levels, then those that shifted.

    Parameters
    ----------
    found : Comparisons
    provenance, rows
        See `comparison_page`.

    Examples
    --------
    >>> import numpy as np
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> days = {name: rng.normal(size=(30, 2)) for name in ("monday", "tuesday")}
    >>> found = rdiv.compare_many(rng.normal(size=(40, 2)), days, model="gmm", rng=0)
    >>> print("tuesday" in rdiv.report.many_page(found))
    True
    """
    provenance = Provenance(versions=versions()) if provenance is None else provenance
    view = many_view(found, provenance, rows=rows)
    return render("many.html", view, rows=rows)


def render(template: str, view: dict[str, Any], *, rows: bool) -> str:
    """Put a view into a template."""
    kept = "and holds no data except the rows listed" if rows else "and holds no row of the data"
    page: str = (
        _environment()
        .get_template(template)
        .render(view=view, tone=view["tone"], title=view["headline"], footnote=f" {kept}")
    )
    return page.encode("utf-8", "replace").decode("utf-8")


@cache
def _environment() -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingExtraError(
            'the report needs jinja2; install it with pip install "rdiv[cli]".'
        ) from None
    environment = Environment(
        loader=PackageLoader("rdiv", "report/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["meanings"] = MEANINGS
    return environment


def short_form(found: Comparison) -> str:
    """A comparison as a small block of HTML: the verdict, then one line per number.

    Parameters
    ----------
    found : Comparison

    Examples
    --------
    >>> import numpy as np
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> found = rdiv.compare(rng.normal(size=(40, 2)), rng.normal(size=(40, 2)), rng=0)
    >>> print("No shift found" in short_form(found))
    True
    """
    verdict, way = found.verdict, found.direction
    return short_block(
        badge(verdict, way), found.headline(), found.details(), tone=tone(verdict, way)
    )
